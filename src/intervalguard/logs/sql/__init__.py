"""What the logs in a database share: the schema, the questions of a view as SQL, and the steps of a log."""
