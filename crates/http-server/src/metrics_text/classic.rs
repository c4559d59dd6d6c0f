//! The text format of Prometheus before `OpenMetrics`, for scrapers that do not accept that.

/// Suffix of the samples of counters, which the older format has in the name of the metric, too.
const TOTAL: &str = "_total";

/// Last line of `OpenMetrics`.
const END: &str = "# EOF";

/// Converts a text of `OpenMetrics` to the older format: descriptions name counters with their
/// suffix, and no line marks the end.
pub(super) fn from_open_metrics(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 32);
    let mut lines = text.lines().filter(|line| *line != END).peekable();
    while let Some(line) = lines.next() {
        let following = lines.peek().copied().unwrap_or_default();
        // The line with the help of a metric precedes that with its type.
        let described = counter_name(line)
            .or_else(|| line.strip_prefix("# HELP ").and(counter_name(following)));
        match described.and_then(|name| {
            line.split_once(name)
                .map(|(before, after)| (before, name, after))
        }) {
            Some((before, name, after)) => out.extend([before, name, TOTAL, after]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Returns the name of a counter from the line with its type.
fn counter_name(line: &str) -> Option<&str> {
    line.strip_prefix("# TYPE ")?.strip_suffix(" counter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_suffix_in_every_line_and_the_rest_stays() {
        let page = "# HELP a_b Bs of a_b.\n# TYPE a_b counter\na_b_total{x=\"y\"} 1\n# HELP c Cs.\n# TYPE c gauge\nc 2\n# EOF\n";
        let classic = "# HELP a_b_total Bs of a_b.\n# TYPE a_b_total counter\na_b_total{x=\"y\"} 1\n# HELP c Cs.\n# TYPE c gauge\nc 2\n";
        assert_eq!(from_open_metrics(page), classic);
    }
}
