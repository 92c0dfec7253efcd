"""Two arms at a table on the embedded simulator, MuJoCo."""
