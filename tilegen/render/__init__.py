"""From programs to text. jinja2 lives here, and nothing else makes lines of code.

`triton` and `eager` print expressions; `context` gathers what the templates read; `module`
renders one spec's module; `runtime` the file that all modules import; `writer` puts files on disk
without ever leaving a folder half written.
"""
