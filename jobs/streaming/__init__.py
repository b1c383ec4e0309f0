"""Streams on Spark Structured Streaming: the runner of operators in tasks.

What a system does is its operator and its collector (`shiq.streams.front.operator`), the same as in
one process; nothing here knows which system it is. Around them stand

    session     a run on Spark, and sessions for it
    pieces      what of files and tables there is to read, cut at lines; positions
    sources     topics as sources of Spark, ticks for files; their chunks (`chunks`: heads, times
                and parts)
    ordering    on the driver: records in order of source and line, what is late, ids, limits; the
                watermark for all buckets
    stages      the shuffle of chunks to buckets, and the step of a bucket from its state, a file,
                to the next
    query       batch by batch: read, put in order, decided; a batch's rows, rejects and checkpoint
                in one step, each once; the last rows at the end; what a batch brought, in Spark's
                progress reports

`session.run_on_spark(collector, run, targets)` runs it: on the driver the collector takes the rows and
rejects of each batch to the outputs of ``run`` (`shiq.streams.front.run.open_run`), which are one
file each. What comes out does not depend on batches, tasks or restarts, as long as a state's
`step` does not.
"""
