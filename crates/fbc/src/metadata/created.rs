//! Parses the creation time of a bundle in the formats that authors use.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const SECONDS_PER_MINUTE: i32 = 60;

/// Parses a point in time; `None` for an unknown format, an impossible date, or an ambiguous one.
///
/// Accepted are RFC 3339, also with a space for the `T`, without a zone (which then is UTC) or with
/// one without a colon; `YYYY-MM-DD hh:mmZ`; a date alone, with dashes or slashes; Go's `UnixDate`
/// of UTC or GMT, with a weekday that is right; and `D/M/YYYY` or `M/D/YYYY` where only one reading
/// is a date. A date alone is its midnight in UTC.
pub(super) fn created_at(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    date_and_time(text)
        .or_else(|| unix_date(text))
        .or_else(|| day_and_month(text))
}

/// A parser over the remaining bytes of a text. Each method consumes what it reads, also when it
/// fails.
struct DateParser<'t>(&'t [u8]);

impl DateParser<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Consumes a byte.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Consumes one of several bytes and returns it.
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        bytes.contains(&first).then_some(first)
    }

    /// Consumes a number of exactly `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i16> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        digits_of(number)
    }

    /// Consumes `YYYY-MM-DD`, with `separator` instead of the dash.
    fn date(&mut self, separator: u8) -> Option<Date> {
        let year = self.number(4)?;
        self.take(separator)?;
        let month = self.number(2)?;
        self.take(separator)?;
        date(year, month, self.number(2)?)
    }

    /// Consumes `hh:mm`.
    fn hour_and_minute(&mut self) -> Option<(i16, i16)> {
        let hour = self.number(2)?;
        self.take(b':')?;
        Some((hour, self.number(2)?))
    }

    /// Consumes `:ss` and an optional fraction, truncated to nanoseconds.
    fn seconds(&mut self) -> Option<(i16, i32)> {
        self.take(b':')?;
        let seconds = self.number(2)?;
        if self.0.first() != Some(&b'.') {
            return Some((seconds, 0));
        }
        let digits = self.0[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (fraction, rest) = self.0[1..].split_at(digits);
        self.0 = rest;
        let nanoseconds = fraction
            .iter()
            .chain([b'0'; 9].iter())
            .take(9)
            .fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        (digits > 0).then_some((seconds, nanoseconds))
    }

    /// Consumes the rest as an offset; an empty rest is UTC.
    fn zone(&mut self) -> Option<Offset> {
        if self.is_empty() || matches!(self.0, b"Z" | b"z") {
            return Some(Offset::UTC);
        }
        let sign = if self.one_of(b"+-")? == b'-' { -1 } else { 1 };
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let _ = self.take(b':');
        let minutes = self.number(2).filter(|minutes| *minutes < 60)?;
        let minutes = i32::from(hours) * 60 + i32::from(minutes);
        self.is_empty()
            .then(|| Offset::from_seconds(sign * minutes * SECONDS_PER_MINUTE).ok())?
    }
}

fn date_and_time(text: &str) -> Option<Timestamp> {
    let mut rest = DateParser(text.as_bytes());
    if let Some(date) = DateParser(text.as_bytes())
        .date(b'/')
        .filter(|_| text.len() == "YYYY/MM/DD".len())
    {
        return midnight(date);
    }
    let date = rest.date(b'-')?;
    if rest.is_empty() {
        return midnight(date);
    }
    let separator = rest.one_of(b"Tt ")?;
    let (hour, minute) = rest.hour_and_minute()?;
    if separator == b' ' && rest.0 == b"Z" {
        return timestamp(date, time(hour, minute, 0, 0)?, Offset::UTC);
    }
    let (second, nanosecond) = rest.seconds()?;
    timestamp(date, time(hour, minute, second, nanosecond)?, rest.zone()?)
}

/// Parses `Mon Jan _2 15:04:05 MST 2006`; as in Go, several spaces count as one.
fn unix_date(text: &str) -> Option<Timestamp> {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let mut word = || words.next();
    let weekday = word()?;
    let month = word()?;
    let day = word()?;
    let clock = word()?;
    let zone = word()?;
    let year = word()?;
    if word().is_some() || !matches!(zone, "UTC" | "GMT") || year.len() != 4 {
        return None;
    }
    let date = date(
        digits_of(year.as_bytes())?,
        position(&MONTHS, month)?,
        one_or_two_digits(day)?,
    )?;
    if i16::from(date.weekday().to_monday_one_offset()) != position(&WEEKDAYS, weekday)? {
        return None;
    }
    let mut clock = DateParser(clock.as_bytes());
    let (hour, minute) = clock.hour_and_minute()?;
    let (second, nanosecond) = clock.seconds()?;
    let time = time(hour, minute, second, nanosecond).filter(|_| clock.is_empty())?;
    timestamp(date, time, Offset::UTC)
}

/// Parses `D/M/YYYY` or `M/D/YYYY`, if only one reading is a date.
fn day_and_month(text: &str) -> Option<Timestamp> {
    let (first, rest) = text.split_once('/')?;
    let (second, year) = rest.split_once('/')?;
    let first = one_or_two_digits(first)?;
    let second = one_or_two_digits(second)?;
    let year = digits_of(year.as_bytes()).filter(|_| year.len() == 4)?;
    match (date(year, first, second), date(year, second, first)) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => midnight(one.or(other)?),
    }
}

fn midnight(date: Date) -> Option<Timestamp> {
    timestamp(date, Time::midnight(), Offset::UTC)
}

fn timestamp(date: Date, time: Time, zone: Offset) -> Option<Timestamp> {
    zone.to_timestamp(date.to_datetime(time)).ok()
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn time(hour: i16, minute: i16, second: i16, nanosecond: i32) -> Option<Time> {
    let [hour, minute, second] = [hour, minute, second].map(i8::try_from);
    Time::new(hour.ok()?, minute.ok()?, second.ok()?, nanosecond).ok()
}

/// Returns the position of a name in a list, counted from 1, in any letter case.
fn position(names: &[&str], name: &str) -> Option<i16> {
    let at = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name))?;
    i16::try_from(at + 1).ok()
}

fn one_or_two_digits(text: &str) -> Option<i16> {
    digits_of(text.as_bytes()).filter(|_| text.len() <= 2)
}

/// Parses one to four digits.
fn digits_of(text: &[u8]) -> Option<i16> {
    let is_number = matches!(text.len(), 1..=4) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        text.iter()
            .fold(0, |number, digit| number * 10 + i16::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests;
