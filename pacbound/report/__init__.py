"""What people look at: where a bound comes from, as tables."""
