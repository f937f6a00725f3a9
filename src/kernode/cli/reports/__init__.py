"""What commands with long results print of them."""
