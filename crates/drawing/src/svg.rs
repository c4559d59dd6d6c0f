//! Draws the update graph as a picture (SVG): a row for each bundle, highest version first, and a
//! lane for each channel, as the history of a version control system is drawn.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display};

use crate::rows::{Row, lanes, rows};
use crate::{Drawing, DrawnChannel, DrawnEntry};

/// Distance between two lanes, in pixels.
const LANE: usize = 16;

/// Distance between two rows, in pixels.
const ROW: usize = 22;

/// Width of a letter of the monospaced font in tenths of a pixel, rounded up.
const LETTER_TENTHS: usize = 74;

/// Margin around the picture, in pixels.
const MARGIN: usize = 16;

/// Maximum number of letters that are shown of the name of a channel.
const TITLE_LETTERS: usize = 32;

/// Number of colours of lanes, which are used in turn. Names say which lane is which too.
const COLOURS: usize = 6;

/// The style of the picture, for light and dark surroundings.
const STYLE: &str = "\
svg{--text:#1f2328;--dim:#59636e;--paper:#fff;--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989;--c5:#7d6100}
@media(prefers-color-scheme:dark){svg{--text:#f0f6fc;--dim:#9198a1;--paper:#0d1117;--c0:#4493f8;--c1:#db6d28;--c2:#3fb950;\
--c3:#ab7df8;--c4:#db61a2;--c5:#d29922}}
.paper{fill:var(--paper)}text{font:12px ui-monospace,monospace;fill:var(--text)}.dim{fill:var(--dim)}.head{font-weight:bold}
path{fill:none;stroke-width:2}.skip{stroke-dasharray:3 3;stroke-width:1}circle{stroke-width:2;fill:var(--paper)}
.l0{stroke:var(--c0)}.l1{stroke:var(--c1)}.l2{stroke:var(--c2)}.l3{stroke:var(--c3)}.l4{stroke:var(--c4)}.l5{stroke:var(--c5)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}
.absent{stroke:var(--dim)}";

/// The picture of an update graph.
struct Picture<'d, 'g> {
    package: &'g str,
    lanes: Vec<Lane<'d, 'g>>,
    rows: Vec<Row<'g>>,
    /// Indexes of the rows by the names of their bundles.
    places: HashMap<&'g str, usize>,
}

/// A channel.
struct Lane<'d, 'g> {
    channel: &'d DrawnChannel<'g>,
    title: String,
}

/// A line between two rows of a lane.
struct Line {
    /// Index of the lane.
    lane: usize,
    /// Index of the row that it begins at.
    from: usize,
    /// Index of the row that it ends at.
    to: usize,
    is_straight: bool,
    class: String,
}

impl Drawing<'_> {
    /// Draws the graph as a picture (SVG) with a row for each bundle and a lane for each channel:
    /// the default channel first, then by the versions of their heads. A dot is an entry, filled
    /// for a head; a line leads along `replaces`, a dashed arc along `skips`. Skip ranges are
    /// written.
    pub fn svg(&self) -> impl Display {
        Picture::new(self)
    }
}

impl<'d, 'g> Picture<'d, 'g> {
    fn new(drawing: &'d Drawing<'g>) -> Self {
        let lanes = lanes(drawing)
            .into_iter()
            .map(|channel| Lane {
                channel,
                title: channel.title(),
            })
            .collect();
        let rows = rows(drawing);
        let places = rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.name, at))
            .collect();
        Self {
            package: drawing.package,
            lanes,
            rows,
            places,
        }
    }

    /// Height of the names of the channels, in pixels: they stand upright.
    fn header(&self) -> usize {
        let longest = self
            .lanes
            .iter()
            .map(|lane| lane.title.chars().count().min(TITLE_LETTERS))
            .max();
        MARGIN + width(longest.unwrap_or_default()) + ROW
    }

    /// Left edges of the columns of versions, names and notes, and the right edge of all.
    fn columns(&self) -> [usize; 4] {
        let longest = |text: for<'r> fn(&'r Row<'g>) -> &'r str| {
            self.rows
                .iter()
                .map(|row| text(row).chars().count())
                .max()
                .map(width)
                .unwrap_or_default()
        };
        let version = MARGIN + self.lanes.len() * LANE + LANE;
        let name = version + longest(|row| row.version) + LANE;
        let notes = name + longest(|row| row.name) + LANE;
        [
            version,
            name,
            notes,
            notes + longest(|row| &row.notes) + MARGIN,
        ]
    }

    fn row_y(&self, row: usize) -> usize {
        self.header() + row * ROW + ROW / 2
    }

    fn lane(&self, f: &mut fmt::Formatter<'_>, at: usize, lane: &Lane<'_, '_>) -> fmt::Result {
        let colour = at % COLOURS;
        let entries = &lane.channel.entries;
        let with_dot: HashSet<_> = entries
            .iter()
            .filter_map(|entry| self.places.get(entry.name))
            .collect();
        for entry in entries {
            let Some(&to) = self.places.get(entry.name) else {
                continue;
            };
            let replaced = entry.replaces.and_then(|name| self.places.get(name));
            if let Some(&from) = replaced.filter(|from| **from != to) {
                let between = to.min(from) + 1..to.max(from);
                let stroke = Line {
                    lane: at,
                    from: to,
                    to: from,
                    // A straight line would run through the dots of other entries.
                    is_straight: !between.into_iter().any(|row| with_dot.contains(&row)),
                    class: format!("l{colour}"),
                };
                self.line(f, &stroke)?;
            }
            let skipped = entry
                .skips
                .iter()
                .filter_map(|name| self.places.get(name))
                .filter(|from| with_dot.contains(from));
            for &from in skipped.filter(|from| **from != to) {
                let stroke = Line {
                    lane: at,
                    from: to,
                    to: from,
                    is_straight: false,
                    class: format!("l{colour} skip"),
                };
                self.line(f, &stroke)?;
            }
        }
        entries
            .iter()
            .try_for_each(|entry| self.dot(f, at, entry, lane))
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, line: &Line) -> fmt::Result {
        let x = lane_x(line.lane);
        let class = &line.class;
        let from = self.row_y(line.from);
        let to = self.row_y(line.to);
        if line.is_straight {
            return writeln!(f, "<path class=\"{class}\" d=\"M{x} {from}V{to}\"/>");
        }
        let bend = x + LANE / 2 + 3;
        writeln!(
            f,
            "<path class=\"{class}\" d=\"M{x} {from}C{bend} {from} {bend} {to} {x} {to}\"/>"
        )
    }

    fn dot(
        &self,
        f: &mut fmt::Formatter<'_>,
        at: usize,
        entry: &DrawnEntry<'_>,
        lane: &Lane<'_, '_>,
    ) -> fmt::Result {
        let Some(&row) = self.places.get(entry.name) else {
            return Ok(());
        };
        let x = lane_x(at);
        let colour = at % COLOURS;
        let class = match (
            self.rows[row].is_absent,
            lane.channel.heads.contains(&entry.name),
        ) {
            (true, _) => "absent".to_owned(),
            (false, true) => format!("l{colour} f{colour}"),
            (false, false) => format!("l{colour}"),
        };
        let name = XmlText(entry.name);
        let title = XmlText(&lane.title);
        let y = self.row_y(row);
        writeln!(
            f,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"><title>{name} in {title}</title></circle>"
        )
    }

    fn titles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let y = self.header() - ROW / 2;
        for (at, lane) in self.lanes.iter().enumerate() {
            let x = lane_x(at) + 4;
            let colour = at % COLOURS;
            let title = shortened(&lane.title);
            let title = XmlText(&title);
            writeln!(
                f,
                "<text class=\"f{colour}\" transform=\"translate({x} {y})rotate(-90)\">{title}</text>"
            )?;
        }
        Ok(())
    }

    fn texts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [version_x, name_x, notes_x, _] = self.columns();
        for (at, row) in self.rows.iter().enumerate() {
            let y = self.row_y(at) + 4;
            let class = if row.is_head { "head" } else { "row" };
            let version = XmlText(row.version);
            let name = XmlText(row.name);
            let notes = XmlText(&row.notes);
            write!(
                f,
                "<text class=\"{class}\" x=\"{version_x}\" y=\"{y}\">{version}</text>"
            )?;
            write!(
                f,
                "<text class=\"{class}\" x=\"{name_x}\" y=\"{y}\">{name}</text>"
            )?;
            writeln!(
                f,
                "<text class=\"dim\" x=\"{notes_x}\" y=\"{y}\">{notes}</text>"
            )?;
        }
        Ok(())
    }
}

impl Display for Picture<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, _, width] = self.columns();
        let height = self.header() + self.rows.len() * ROW + MARGIN;
        let size =
            format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" {size}>"
        )?;
        writeln!(
            f,
            "<title>Update graph of {}</title>\n<style>{STYLE}</style>",
            XmlText(self.package)
        )?;
        writeln!(
            f,
            "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
        )?;
        self.titles(f)?;
        self.lanes
            .iter()
            .enumerate()
            .try_for_each(|(at, lane)| self.lane(f, at, lane))?;
        self.texts(f)?;
        writeln!(f, "</svg>")
    }
}

fn lane_x(lane: usize) -> usize {
    MARGIN + lane * LANE + LANE / 2
}

/// Width of a number of letters, in pixels.
fn width(letters: usize) -> usize {
    (letters * LETTER_TENTHS).div_ceil(10)
}

fn shortened(title: &str) -> String {
    match title.char_indices().nth(TITLE_LETTERS) {
        Some(_) => title.chars().take(TITLE_LETTERS - 1).chain(['…']).collect(),
        None => title.to_owned(),
    }
}

/// Text of an element, escaped for XML, which has no control characters.
struct XmlText<'a>(&'a str);

impl Display for XmlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            // Also those that change the direction of what follows, and two that XML excludes.
            c if c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}') =>
            {
                f.write_str(" ")
            }
            c => write!(f, "{c}"),
        })
    }
}
