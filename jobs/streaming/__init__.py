"""Streams on Spark Structured Streaming: what all systems need, and the face of each.

A system says in two functions what it does (`chunks.SparkSystem`): `split` takes the events of a
chunk apart into tables by bucket, and `step` takes, bucket by bucket, what came, with the bytes
that it returned the time before. Around them stand

    session     a run on Spark, and sessions for it pieces      what of files and tables there is
    to read, cut at lines; positions sources     topics as sources of Spark, ticks for files;
    their chunks (`chunks`: heads, times and parts) ordering    on the driver: records in order
    of source and line, what is late, ids, limits; the watermark for all buckets stages      the
    shuffle of chunks to buckets, and the step of a bucket from its state, a file, to the next
    batches     a query, batch by batch; a batch's rows, rejects and checkpoint in one step, each
    once query       a batch of a system in buckets: read, put in order, decided; the last rows
    at the end progress    what a batch brought, in Spark's progress reports

`session.on_spark(face, run, targets)` runs it: on the driver the face hears the rows and rejects
of each batch, and writes them to the outputs of ``run`` (`streams.front.run.started`), which are
one file each. The faces are `consistency.BucketFindings`, `rules.Models`,
`discovery.EntailedWindows` and `enrich.OrderedRows`, which needs no order and no buckets: its
batches are `batches.Batches`, as those of `Query` are, and their tasks `event_keys`. What comes
out does not depend on batches, tasks or restarts, as long as `step` does not.
"""
