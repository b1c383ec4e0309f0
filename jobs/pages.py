"""What every HTML page of shiq has in common: the frame, the looks, and escaping. One file,
nothing fetched.
"""

from __future__ import annotations

from html import escape

from jobs.visible import visible

#: Colours by role, for light and dark surroundings and for paper; the type; tables.
STYLE = """
:root{color-scheme:light dark;--ground:#f5f6f8;--card:#fff;--ink:#1b2027;--soft:#545d6b;--line:#d9dde3;--link:#1d56a8;
--bad:#a4201a;--bad-ground:#fdeeec;--good:#17692b;--good-ground:#e7f5eb;--open:#7d5100;--open-ground:#fff3d9;
--new:#1d56a8;--new-ground:#edf3fc;--old:#5d4a86;--old-ground:#f3effa;--rule:#0f6660;--rule-ground:#e8f5f4;--code:#eef0f3}
@media(prefers-color-scheme:dark){:root{--ground:#12151a;--card:#1a1e25;--ink:#e4e7ec;--soft:#a3adba;--line:#323945;
--link:#8ab6f9;--bad:#ff9a90;--bad-ground:#371b1a;--good:#83d8a0;--good-ground:#142e1e;--open:#f6c766;--open-ground:#33270f;
--new:#8ab6f9;--new-ground:#18253a;--old:#c5b1f2;--old-ground:#261f37;--rule:#7ed3cb;--rule-ground:#122b2a;--code:#262c36}}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;color:var(--ink);background:var(--ground);
margin:0}
main,.wide{max-width:1020px;margin:0 auto;padding:0 1.25rem}
h1,h2,h3,h4{line-height:1.25;text-wrap:balance} p,li,dd{max-width:80ch}
a{color:var(--link)} code{font:.88em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
table{border-collapse:collapse;width:100%;font-size:.94em}
th,td{padding:.45em .7em;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)} .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.scroll{overflow-x:auto} .soft,.note{color:var(--soft)} .note{font-size:.92em}
.bad{color:var(--bad)} .good{color:var(--good)} .dim{color:var(--soft)}
summary{cursor:pointer} :focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:3px}
@media print{:root{--ground:#fff;--card:#fff}body{font-size:11pt}}
"""


def escaped(text: object) -> str:
    """``text`` as HTML text or attribute, with nothing in it that hides."""
    return escape(visible(str(text)))


def framed(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """The whole page; ``title`` is text, ``body`` HTML. It may load nothing, whatever is in it."""
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>{escaped(title)}</title><style>{STYLE}{style}</style></head>\n<body>{body}"
        f"{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )
