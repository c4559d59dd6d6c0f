//! Ages as `kubectl` shows them.

use jiff::{SignedDuration, Timestamp};

/// Returns how long ago something happened: two units at most, and the fewer the longer it is ago.
pub(crate) fn age(created: Option<Timestamp>, now: Timestamp) -> String {
    let Some(created) = created else {
        return "<unknown>".to_owned();
    };
    let duration = now.duration_since(created);
    if duration < -SignedDuration::from_secs(1) {
        "<invalid>".to_owned()
    } else {
        human_duration(duration.as_secs().max(0))
    }
}

fn human_duration(seconds: i64) -> String {
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    let days = hours / 24;
    let years = hours / 24 / 365;
    let two = |first: i64, unit: &str, second: i64, smaller: &str| {
        if second == 0 {
            format!("{first}{unit}")
        } else {
            format!("{first}{unit}{second}{smaller}")
        }
    };
    match seconds {
        ..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if years < 2 => format!("{days}d"),
        _ if years < 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_ago_the_fewer_units() {
        const M: i64 = 60;
        const H: i64 = 60 * M;
        const D: i64 = 24 * H;
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (2 * M, "2m"),
            (5 * M + 30, "5m30s"),
            (10 * M + 30, "10m"),
            (3 * H - 1, "179m"),
            (3 * H, "3h"),
            (7 * H + 59 * M, "7h59m"),
            (8 * H + M, "8h"),
            (2 * D - 1, "47h"),
            (2 * D, "2d"),
            (7 * D + 23 * H, "7d23h"),
            (8 * D + H, "8d"),
            (2 * 365 * D - 1, "729d"),
            (2 * 365 * D, "2y"),
            (3 * 365 * D + D, "3y1d"),
            (8 * 365 * D + D, "8y"),
        ] {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn what_is_unknown_or_to_come_has_no_age() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let in_seconds = |seconds| Some(now + SignedDuration::from_secs(seconds));
        assert_eq!(age(None, now), "<unknown>");
        assert_eq!(
            (age(in_seconds(1), now), age(in_seconds(2), now)),
            ("0s".to_owned(), "<invalid>".to_owned())
        );
        assert_eq!(age(in_seconds(-3), now), "3s");
    }
}
