"""Streams on Spark Structured Streaming: what all systems need, and the face of each.

A system says in two functions what it does (`chunks.SparkSystem`): `split` takes the events of a chunk apart into tables by
bucket, and `step` takes, bucket by bucket, what came, with the bytes that it returned the time before. Around them stand

    session     a run on Spark, and sessions with state in RocksDB, whose changes are checkpoints
    pieces      what of files and tables there is to read, cut at lines; positions
    sources     pieces and topics as sources of Spark; their chunks (`chunks`: heads and parts)
    ordering    one small task: records in order of source and line, what is late, ids, limits; the watermark for all buckets
    stages      the order and the buckets as stages that keep state (`transformWithStateInPandas`, one value a bucket)
    shipped     the system itself, once a worker
    query       all of it as one query; a batch's rows, rejects and checkpoint in one step, each once; the last rows at the end

`session.on_spark(face, run, targets)` runs it: on the driver the face hears the rows and rejects of each batch, and writes them
to the outputs of ``run`` (`streams.front.run.started`), which are one file each. The faces are `consistency.BucketFindings`,
`rules.Models`, `discovery.EntailedWindows` and `enrich.OrderedRows`, which needs no order and no buckets: its batches are
`query.Batches`, as those of `Query` are, and their tasks `event_keys`. What comes out does not depend on batches, tasks or
restarts, as long as `step` does not.
"""
