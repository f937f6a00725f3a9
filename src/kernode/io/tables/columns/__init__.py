"""What columns of a node table become: numbers, in a way that can be stored and repeated on other tables."""

from kernode.io.tables.columns.encoding import Encoding
from kernode.io.tables.columns.kinds import Category, Column, Date, Flag, Number, Text, Vector
from kernode.io.tables.columns.structure import Structure

__all__ = ["Category", "Column", "Date", "Encoding", "Flag", "Number", "Structure", "Text", "Vector"]
