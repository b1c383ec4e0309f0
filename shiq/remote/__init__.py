"""Storage outside this machine's folders: object stores and HDFS."""
