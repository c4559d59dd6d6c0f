//! The lines of the blobs that match a filter, as a compact list of line ranges.

use std::ops::Range;
use std::sync::Arc;

use fbc::work::{Work, WorkStopped};
use fbc::{Catalog, MetaFilter};

use admission::{Peer, Permits};

use super::super::body::Slices;

/// Budget in bytes for the line ranges of filtered blobs, over all responses that are being sent:
/// memory that slow clients occupy.
pub const MAX_LINE_RANGES_BYTES: usize = 32 << 20;

/// Maximum size in bytes of the line ranges of a response that draw from no budget: they take less
/// memory than the connection.
pub const UNCOUNTED_LINE_RANGES_BYTES: usize = 4 << 10;

/// Indices of the first and last one of blobs whose lines are adjacent. Another blob is between any
/// two runs, so that they take at most 4 bytes for each blob of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineRun {
    first: u32,
    last: u32,
}

/// Share of a peer in a budget.
#[derive(Clone, Copy)]
pub(super) struct PeerBudget<'p> {
    pub(super) permits: &'p Permits,
    pub(super) peer: Peer,
}

/// Finds the lines of the blobs that match a filter; `None` if the budget for their line ranges is
/// exhausted. Without a budget, the caller bounds how many results there are.
pub(super) fn find_lines(
    catalog: &Arc<Catalog>,
    filter: &MetaFilter<'_>,
    work: &Work<'_>,
    budget: Option<PeerBudget<'_>>,
) -> Result<Option<Slices>, WorkStopped> {
    let found = catalog.find_metas(filter, work)?;
    let runs = runs(catalog, &found);
    let length = runs
        .iter()
        .map(|run| span(catalog, *run).len() as u64)
        .sum();
    let bytes = size_of_val(&*runs);
    let budget = budget.filter(|_| bytes > UNCOUNTED_LINE_RANGES_BYTES);
    let permit = budget.map(|budget| budget.permits.try_acquire(budget.peer, bytes));
    if let Some(None) = permit {
        return Ok(None);
    }
    let content = catalog.content().clone();
    let catalog = Arc::clone(catalog);
    let spans = runs.into_iter().map(move |run| {
        // The closure owns the permit, so that it is held until the last range is sent.
        let _permit = &permit;
        span(&catalog, run)
    });
    Ok(Some(Slices::lazy(content, length, spans)))
}

fn runs(catalog: &Catalog, metas: &[u32]) -> Box<[LineRun]> {
    let line = |meta: u32| catalog.meta_at(meta as usize).line_span();
    let mut runs: Vec<LineRun> = Vec::new();
    for &meta in metas {
        match runs.last_mut() {
            Some(run) if line(run.last).end == line(meta).start => run.last = meta,
            _ => runs.push(LineRun {
                first: meta,
                last: meta,
            }),
        }
    }
    runs.into()
}

fn span(catalog: &Catalog, run: LineRun) -> Range<usize> {
    let line = |meta: u32| catalog.meta_at(meta as usize).line_span();
    line(run.first).start..line(run.last).end
}

#[cfg(test)]
mod tests {
    use fbc_read::origin::{FileOrigin, Origins};

    use super::*;

    /// A catalog of lines whose packages alternate.
    fn alternating(lines: u32) -> Arc<Catalog> {
        let line = |number| {
            format!(
                "{{\"package\":\"p{}\",\"schema\":\"s{}\"}}\n",
                number % 2,
                number % 8 / 4
            )
        };
        let text: String = (0..lines).map(line).collect();
        let file = FileOrigin {
            path: "c.json".into(),
            lines: (1..=lines).collect(),
            ..FileOrigin::default()
        };
        Catalog::build(
            text.into(),
            &Origins {
                files: vec![file],
                ..Origins::default()
            },
        )
        .unwrap()
        .into()
    }

    fn by_package(package: &str) -> MetaFilter<'_> {
        MetaFilter {
            package: Some(package),
            ..MetaFilter::default()
        }
    }

    #[test]
    fn adjacent_lines_are_one_run_and_others_have_four_bytes_a_blob() {
        let catalog = alternating(100_000);
        let by_schema = MetaFilter {
            schema: Some("s1"),
            ..MetaFilter::default()
        };
        let found = runs(
            &catalog,
            &catalog.find_metas(&by_schema, &Work::unlimited()).unwrap(),
        );
        assert_eq!(
            (found.len(), found[0]),
            (12_500, LineRun { first: 4, last: 7 })
        );
        let found = runs(
            &catalog,
            &catalog
                .find_metas(&by_package("p1"), &Work::unlimited())
                .unwrap(),
        );
        assert_eq!(
            (size_of_val(&*found), found[0]),
            (100_000 * 4, LineRun { first: 1, last: 1 })
        );
    }

    #[test]
    fn line_ranges_of_unread_responses_are_bounded() {
        let catalog = alternating(100_000);
        let peer = |last: u8| Peer::new([192, 0, 2, last].into());
        let find = |room, last| {
            find_lines(
                &catalog,
                &by_package("p1"),
                &Work::unlimited(),
                Some(PeerBudget {
                    permits: room,
                    peer: peer(last),
                }),
            )
            .unwrap()
        };
        let room = Permits::new(1_000_000);
        let unread: Vec<_> = (0..100).filter_map(|last| find(&room, last)).collect();
        assert_eq!(unread.len(), 2);
        let expected: Vec<_> = catalog
            .content()
            .split_inclusive(|byte| *byte == b'\n')
            .skip(1)
            .step_by(2)
            .flatten()
            .copied()
            .collect();
        for lines in unread {
            assert_eq!(lines.length(), expected.len() as u64);
            assert!(*lines.concat() == expected[..]);
        }
        let own = [find(&room, 1), find(&room, 1)].map(|lines| lines.is_some());
        assert_eq!(
            own,
            [true, false],
            "they were read, and half of the bound is for others"
        );
    }

    #[test]
    fn a_short_list_of_line_ranges_draws_from_no_budget() {
        let short = u32::try_from(UNCOUNTED_LINE_RANGES_BYTES / size_of::<LineRun>() * 2).unwrap();
        let room = Permits::new(0);
        let find = |lines| {
            find_lines(
                &alternating(lines),
                &by_package("p1"),
                &Work::unlimited(),
                Some(PeerBudget {
                    permits: &room,
                    peer: Peer::default(),
                }),
            )
        };
        let found = |lines| find(lines).unwrap().is_some();
        assert_eq!((found(short), found(short + 2)), (true, false));
    }
}
