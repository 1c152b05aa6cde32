"""The report of a run in a notebook. The plots are drawn in C (src/report); the page needs no network and no matplotlib."""
import html
import re


class Plot:
    """A report: `html` is its page, `svg` its plots. A notebook shows the page."""

    def __init__(self, page):
        self.html = page

    @classmethod
    def of(cls, path):
        with open(path, encoding="utf-8") as f:
            return cls(f.read())

    @property
    def svg(self):
        return re.findall(r"<svg\b.*?</svg>", self.html, re.S)

    def save(self, path):
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.html)

    def _repr_html_(self):
        return '<iframe srcdoc="%s" style="width: 100%%; height: 40em; border: 0"></iframe>' % html.escape(self.html)
