"""Hooks of mkdocs: pages from outside of docs, links out of the site, llms.txt, and the check that the site loads nothing from elsewhere."""

import html
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
# Files outside of docs that are pages of the site, by the page's name.
PAGES = {"figures.md": "bench/README.md", "changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
LINK = re.compile(r"(\[[\w./-]+\.md)?\]\((?![a-z]+:|#|/)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
# What a page loads, as opposed to what it links to.
LOADED = re.compile(r"<(?:script|img|iframe|source|video|audio|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)[^>]*>", re.I)

summaries = {}  # the first sentence of each page, by its name
ordered = []  # the pages in the order of the navigation
titles = {}  # of the pages that the navigation gives one, by their names


def on_config(config):
    for section in config.nav:
        for entries in section.values():
            titles.update((name, title) for entry in entries if isinstance(entry, dict) for title, name in entry.items())
    return config


def on_files(files, config):
    for name, path in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    name = page.file.src_uri
    folder = posixpath.dirname(PAGES.get(name, "docs/" + name))
    shown = {path: page for page, path in PAGES.items()}

    def target(match):
        text, path, anchor = match[1] or "", posixpath.normpath(posixpath.join(folder, match[2])), match[3] or ""
        if path in shown:
            uri = shown[path]
        elif path.startswith("docs/"):
            uri = path.removeprefix("docs/")
        else:
            kind = "tree" if (ROOT / path).is_dir() else "blob"
            return f"{text}]({config.extra['repository']}/{kind}/main/{path}{anchor})"
        if text and uri in titles:  # a page is named by its title, not by its file
            text = "[" + titles[uri]
        return f"{text}]({posixpath.relpath(uri, posixpath.dirname(name) or '.')}{anchor})"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(target, part) for part in parts[::2]]
    parts[1::2] = [re.sub(r"^```(\w*).*", r"```\1", part, count=1) for part in parts[1::2]]  # without not-run and the like
    return "".join(parts)


def on_nav(nav, config, files):
    ordered.extend(nav.pages)


def on_page_content(content, page, config, files):
    first = re.search(r"<p>(.*?)</p>", content, re.S)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", first[1])).split()) if first else ""
    summaries[page.file.src_uri] = re.split(r"(?<=[.!?]) ", text)[0]


def on_post_build(config):
    """Write llms.txt, a list of the pages with the first sentence of each, and look at what the pages load."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}."]
    section = None
    for page in ordered:
        if page.parent.title != section:
            section = page.parent.title
            lines += ["", f"## {section}", ""]
        lines.append(f"- [{page.title}]({page.url or 'index.html'}): {summaries[page.file.src_uri]}")
    site = Path(config.site_dir)
    (site / "llms.txt").write_text("\n".join(lines) + "\n")

    foreign = [f"{file.relative_to(site)}: {m[1]}" for file in site.rglob("*.html") for m in LOADED.finditer(file.read_text())
               if not re.search(r'rel="?(canonical|prev|next|edit)', m[0])]
    if foreign:
        raise PluginError("the site loads from other hosts:\n" + "\n".join(foreign))
