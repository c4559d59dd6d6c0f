//! Writes feeds in the Atom Syndication Format (RFC 4287).
//!
//! Names come from catalogs, so that everything is escaped, and shortened. References are relative to
//! the address of the feed: the server does not know the address that its clients use.

use std::borrow::Cow;
use std::io;

use fbc_grammar::Digest;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quick_xml::Writer;
use quick_xml::escape::escape;
use quick_xml::events::{BytesDecl, BytesText, Event};
use serving::HeadChange;
use sha2::{Digest as _, Sha256};

use crate::MAX_FEED_BYTES;
use crate::request::FeedRequest;
use crate::select::{FeedEntry, FeedSource};

/// Maximum number of changes of a package that one entry lists.
pub const MAX_LISTED_CHANGES: usize = 50;

/// Maximum length of a name in a feed, in characters.
pub const MAX_SHOWN_NAME: usize = 200;

const NAMESPACE: &str = "http://www.w3.org/2005/Atom";

/// Characters that have a meaning in a path or a query, and those that no URL has.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A feed before it is written.
pub(crate) struct Feed<'a> {
    pub(crate) request: &'a FeedRequest,
    pub(crate) sources: &'a [FeedSource],
    pub(crate) entries: &'a [FeedEntry],
    /// Links lead to the pages of the explorer.
    pub(crate) has_explorer: bool,
}

type XmlWriter = Writer<Vec<u8>>;

impl Feed<'_> {
    /// Writes the feed. Entries that do not fit into [`MAX_FEED_BYTES`] are left out.
    pub(crate) fn write(&self) -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new());
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
        writer
            .create_element("feed")
            .with_attribute(("xmlns", NAMESPACE))
            .write_inner_content(|writer| self.write_content(writer))?;
        Ok(writer.into_inner())
    }

    fn write_content(&self, writer: &mut XmlWriter) -> io::Result<()> {
        element(writer, "id", &self.id())?;
        element(writer, "title", &self.title())?;
        if let Some(subtitle) = self.subtitle() {
            element(writer, "subtitle", subtitle)?;
        }
        element(writer, "updated", &time(self.updated()))?;
        writer
            .create_element("author")
            .write_inner_content(|writer| element(writer, "name", &self.author()))?;
        element(writer, "generator", "catalogql")?;
        link(
            writer,
            "self",
            "application/atom+xml",
            &self.own_reference(),
        )?;
        if self.has_explorer {
            link(writer, "alternate", "text/html", &self.page())?;
        }
        for entry in self.entries {
            let before = writer.get_ref().len();
            self.write_entry(writer, entry)?;
            // The end tag of the feed must fit, too.
            if writer.get_ref().len() + "</feed>".len() > MAX_FEED_BYTES {
                writer.get_mut().truncate(before);
                break;
            }
        }
        Ok(())
    }

    fn write_entry(&self, writer: &mut XmlWriter, entry: &FeedEntry) -> io::Result<()> {
        let title = entry.title(self.request.catalog.is_none());
        writer
            .create_element("entry")
            .write_inner_content(|writer| {
                element(writer, "id", &entry.id())?;
                element(writer, "title", &title)?;
                element(writer, "updated", &time(entry.at))?;
                element(writer, "published", &time(entry.at))?;
                writer
                    .create_element("category")
                    .with_attribute(("term", shown(&entry.changes.name).as_ref()))
                    .write_empty()?;
                // A name that is not shown whole would make a link of any length.
                let is_short = entry.changes.name.len() <= MAX_SHOWN_NAME;
                if self.has_explorer && is_short {
                    let query = format!(
                        "?catalog={}&package={}",
                        in_url(&entry.catalog),
                        in_url(&entry.changes.name)
                    );
                    let page = format!("{}{query}", self.root());
                    link(writer, "alternate", "text/html", &page)?;
                }
                writer
                    .create_element("content")
                    .with_attribute(("type", "html"))
                    .write_text_content(BytesText::new(&entry.html()))?;
                Ok(())
            })?;
        Ok(())
    }

    /// Returns the id of the feed, which depends on its address alone.
    fn id(&self) -> String {
        let FeedRequest {
            catalog,
            package,
            search,
        } = self.request;
        let parts = [catalog, package, search].map(|part| part.as_deref());
        urn("feed", &parts)
    }

    fn title(&self) -> String {
        let FeedRequest {
            catalog,
            package,
            search,
        } = self.request;
        let subject = match (catalog, package) {
            (Some(catalog), Some(package)) => format!("{} in {}", shown(package), shown(catalog)),
            (Some(catalog), None) => shown(catalog).into_owned(),
            (None, _) => "all catalogs".to_owned(),
        };
        match search {
            Some(words) => format!("Changes of packages for “{}” in {subject}", shown(words)),
            None => format!("Changes of {subject}"),
        }
    }

    /// Returns the summary of the only package.
    fn subtitle(&self) -> Option<&str> {
        let package = self.request.package.as_ref()?;
        let catalog = &self.sources.first()?.served.content.catalog;
        catalog.package(package)?.summary().summary()
    }

    /// Returns the time of the latest entry, or else of the first content.
    fn updated(&self) -> Timestamp {
        let latest = self.entries.first().map(|entry| entry.at);
        let first = || {
            let sources = self.sources.iter();
            let sets = sources.filter_map(|source| source.log.sets().last());
            sets.map(|set| set.at).max()
        };
        latest.or_else(first).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn author(&self) -> String {
        let only = self
            .sources
            .first()
            .filter(|_| self.request.catalog.is_some());
        let metadata = only.map(|source| &source.served.metadata);
        let publisher = metadata.and_then(|it| it.publisher.as_ref());
        let name = publisher.or(self.request.catalog.as_ref());
        name.map_or_else(|| "catalogql".to_owned(), |name| shown(name).into_owned())
    }

    /// Returns the reference to the root of the server.
    fn root(&self) -> &'static str {
        match (&self.request.catalog, &self.request.package) {
            (None, _) => "./",
            (Some(_), None) => "../",
            (Some(_), Some(_)) => "../../",
        }
    }

    /// Returns the reference to the feed itself.
    fn own_reference(&self) -> String {
        let FeedRequest {
            catalog,
            package,
            search,
        } = self.request;
        let last = package.as_deref().or(catalog.as_deref());
        // A name with a colon would be taken for an address without the dot.
        let path = format!("./{}", in_url(last.unwrap_or("feeds")));
        match search {
            Some(words) => format!("{path}?search={}", in_url(words)),
            None => path,
        }
    }

    /// Returns the reference to the page of the explorer about the same.
    fn page(&self) -> String {
        let FeedRequest {
            catalog,
            package,
            search,
        } = self.request;
        let query = match (catalog, package, search) {
            (Some(catalog), Some(package), _) => {
                format!("?catalog={}&package={}", in_url(catalog), in_url(package))
            }
            (Some(catalog), None, Some(words)) => {
                format!("?q={}&in={}", in_url(words), in_url(catalog))
            }
            (Some(catalog), None, None) => format!("?catalogs=1&catalog={}", in_url(catalog)),
            (None, _, Some(words)) => format!("?q={}", in_url(words)),
            (None, _, None) => "?catalogs=1".to_owned(),
        };
        format!("{}{query}", self.root())
    }
}

impl FeedEntry {
    /// Returns the id of the entry. It depends on the catalog, the package and the contents alone, so
    /// that it is the same on each replica.
    fn id(&self) -> String {
        let repeat = self.repeat.to_string();
        let parts = [
            &self.catalog,
            &self.changes.name,
            &self.from,
            &self.to,
            &repeat,
        ];
        urn("entry", &parts.map(|part| Some(part.as_str())))
    }

    fn title(&self, names_catalog: bool) -> String {
        let lists = [
            ("added", &self.changes.added),
            ("removed", &self.changes.removed),
            ("changed", &self.changes.changed),
        ];
        let mut parts = Vec::new();
        for (what, names) in lists {
            match &names[..] {
                [] => {}
                [name] => parts.push(format!("{what} {}", shown(name))),
                names => parts.push(format!("{what} {} bundles", names.len())),
            }
        }
        match &self.changes.heads[..] {
            [] => {}
            [head] => parts.push(head_text(head)),
            heads => parts.push(format!("{} channel heads changed", heads.len())),
        }
        let title = format!("{}: {}", shown(&self.changes.name), parts.join(", "));
        if names_catalog {
            format!("{title} ({})", shown(&self.catalog))
        } else {
            title
        }
    }

    /// Returns the changes as a list in HTML.
    fn html(&self) -> String {
        let changes = &self.changes;
        let bundles = [
            ("Added", &changes.added),
            ("Removed", &changes.removed),
            ("Changed", &changes.changed),
        ];
        let bundles = bundles.into_iter().flat_map(|(what, names)| {
            names
                .iter()
                .map(move |name| format!("{what}: {}", shown(name)))
        });
        // Heads come first: they say what an upgrade gives.
        let lines = changes.heads.iter().map(head_text).chain(bundles);
        let count = changes.heads.len()
            + [&changes.added, &changes.removed, &changes.changed]
                .iter()
                .map(|names| names.len())
                .sum::<usize>();
        let items = lines
            .take(MAX_LISTED_CHANGES)
            .map(|line| format!("<li>{}</li>", escape(line.as_str())));
        let mut parts = vec!["<ul>".to_owned()];
        parts.extend(items);
        parts.push("</ul>".to_owned());
        if count > MAX_LISTED_CHANGES {
            let more = count - MAX_LISTED_CHANGES;
            parts.push(format!("<p>And {more} more.</p>"));
        }
        if self.unlisted > 0 {
            let unlisted = self.unlisted;
            parts.push(format!(
                "<p>{unlisted} changes of this content are not listed.</p>"
            ));
        }
        parts.concat()
    }
}

fn head_text(head: &HeadChange) -> String {
    let channel = shown(&head.channel);
    match &head.to {
        Some(to) => format!("head of {channel} is {}", shown(to)),
        None => format!("{channel} has no head any more"),
    }
}

/// Returns a name without characters that XML 1.0 cannot have, and of at most [`MAX_SHOWN_NAME`]
/// characters.
fn shown(name: &str) -> Cow<'_, str> {
    let is_short = name.len() <= MAX_SHOWN_NAME;
    if is_short && name.chars().all(is_text) {
        return Cow::Borrowed(name);
    }
    let kept = name.chars().take(MAX_SHOWN_NAME);
    let mut kept: String = kept
        .map(|letter| if is_text(letter) { letter } else { '\u{fffd}' })
        .collect();
    if name.chars().nth(MAX_SHOWN_NAME).is_some() {
        kept.push('…');
    }
    Cow::Owned(kept)
}

/// Returns whether a character is one of XML 1.0, and prints as text.
fn is_text(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}')
}

fn in_url(text: &str) -> String {
    utf8_percent_encode(text, IN_URL).to_string()
}

/// Formats a time with milliseconds, which every reader of feeds knows.
fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

fn element(writer: &mut XmlWriter, name: &str, text: &str) -> io::Result<()> {
    let text = BytesText::new(text);
    writer.create_element(name).write_text_content(text)?;
    Ok(())
}

fn link(writer: &mut XmlWriter, relation: &str, kind: &str, to: &str) -> io::Result<()> {
    writer
        .create_element("link")
        .with_attributes([("rel", relation), ("type", kind), ("href", to)])
        .write_empty()?;
    Ok(())
}

/// Returns a URN with a UUID (RFC 9562, version 8) of these parts.
fn urn(kind: &str, parts: &[Option<&str>]) -> String {
    let mut hash = Sha256::new();
    hash.update(kind);
    for part in parts {
        // Lengths tell absent parts from empty ones, and parts from each other.
        hash.update(part.map_or(0, |part| part.len() as u64 + 1).to_le_bytes());
        hash.update(part.unwrap_or_default());
    }
    let mut bytes: [u8; 32] = hash.finalize().into();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = Digest::new(bytes).hex();
    let uuid = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..32],
    ];
    format!("urn:uuid:{}", uuid.join("-"))
}
