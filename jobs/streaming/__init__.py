"""Run stream operators in Spark tasks, by Spark Structured Streaming.

A stream command is an operator and a collector (`shiq.streams.front.operator`), the same as in one
process; nothing here depends on the command. The files:

    session       run a stream on Spark, and open sessions for streams
    sources       topics and files as sources of Spark; cut files into ranges
    chunks        encode records: header, times, and one table for each bucket
    ordering      on the driver: accept or reject records in stream order, advance the watermark
    buckets       shuffle chunks to buckets, and step each bucket to its next state
    stateful_run  run batch by batch; write rows, rejects and checkpoint of a batch in one step

`session.run_on_spark(collector, run, targets)` runs a stream. On the driver the collector writes
the rows and rejects of each batch to the outputs of ``run`` (`shiq.streams.front.run.open_run`),
one file each. The output does not depend on batches, tasks or restarts, as long as a state's `step`
does not.
"""
