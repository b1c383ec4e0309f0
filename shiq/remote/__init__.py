"""Remote storage: object stores, HDFS, and SPARQL endpoints as inputs."""
