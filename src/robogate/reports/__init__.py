"""What people look at: terminal, tables, mirrors and exports."""
