//! Ages in the form of kubectl's column AGE.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Returns the age of a moment in RFC 3339 with the precision of kubectl: `85s`, `5m30s`, `3h12m`,
/// `12d`. Empty for a text that is not such a moment.
pub fn age(moment: &str, now: Timestamp) -> String {
    let moment: Option<Timestamp> = moment.parse().ok();
    moment
        .map(|moment| duration(now.as_second() - moment.as_second()))
        .unwrap_or_default()
}

/// Returns the age at this moment.
pub fn age_now(moment: &str) -> String {
    age(moment, Timestamp::now())
}

/// Returns a number of seconds in kubectl's form. A moment in the future, by a clock that differs,
/// counts as now.
fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (large, small) = match seconds {
        ..120 => return format!("{seconds}s"),
        120..600 => ((MINUTE, 'm'), Some((1, 's'))),
        600..10_800 => ((MINUTE, 'm'), None),
        10_800..28_800 => ((HOUR, 'h'), Some((MINUTE, 'm'))),
        28_800..172_800 => ((HOUR, 'h'), None),
        172_800..691_200 => ((DAY, 'd'), Some((HOUR, 'h'))),
        691_200..63_072_000 => ((DAY, 'd'), None),
        63_072_000..252_288_000 => ((YEAR, 'y'), Some((DAY, 'd'))),
        _ => ((YEAR, 'y'), None),
    };
    let (unit, letter) = large;
    let whole = format!("{}{letter}", seconds / unit);
    let rest = small
        .map(|(small, letter)| (seconds % unit / small, letter))
        .filter(|(count, _)| *count > 0);
    match rest {
        Some((count, letter)) => format!("{whole}{count}{letter}"),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_the_precision_of_kubectl() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (3_599, "59m"),
            (10_800, "3h"),
            (11_520, "3h12m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (180_000, "2d2h"),
            (12 * DAY, "12d"),
            (2 * YEAR + DAY, "2y1d"),
            (9 * YEAR, "9y"),
        ] {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn a_moment_with_nanoseconds_has_an_age_and_another_text_has_none() {
        let now = "2026-11-21T10:00:00Z".parse().expect("it is a moment");
        assert_eq!(age("2026-11-21T09:58:59.123456789Z", now), "61s");
        assert_eq!(age("yesterday", now), "");
        assert_eq!(age("", now), "");
    }
}
