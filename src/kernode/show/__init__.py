"""What is looked at instead of read: pictures, the report, the explorer."""
