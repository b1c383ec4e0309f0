"""Reports of an answer: HTML, Markdown, SARIF, JUnit XML, Parquet tables, and the JSON that all
of them are made of.
"""
