"""Places that are no folder of this machine: object stores, and Hadoop's file system."""
