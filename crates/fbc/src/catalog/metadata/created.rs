//! The forms in which authors write when a bundle was created.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

const SECONDS_PER_MINUTE: i32 = 60;

/// The moment that a text names; `None` when it is in no known form, impossible, or can be read in two ways.
///
/// Known are RFC 3339, also with a space for the `T`, without a zone (which is UTC then) or with one without a colon;
/// `YYYY-MM-DD hh:mmZ`; a date alone, with dashes or slashes; Go's `UnixDate` of UTC or GMT, with a weekday that is
/// right; and `D/M/YYYY` or `M/D/YYYY` where only one day can be meant. A date alone is its beginning in UTC.
pub(super) fn created_at(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    date_and_time(text).or_else(|| unix_date(text)).or_else(|| day_and_month(text))
}

/// What is left of a text.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes this byte.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// Takes one of these bytes, and says which.
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        bytes.contains(&first).then_some(first)
    }

    /// Takes a number of exactly so many digits.
    fn number(&mut self, digits: usize) -> Option<i16> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        digits_of(number)
    }

    /// Takes `YYYY-MM-DD` with another separator.
    fn date(&mut self, separator: u8) -> Option<Date> {
        let year = self.number(4)?;
        self.take(separator)?;
        let month = self.number(2)?;
        self.take(separator)?;
        date(year, month, self.number(2)?)
    }

    /// Takes `hh:mm`.
    fn hour_and_minute(&mut self) -> Option<(i16, i16)> {
        let hour = self.number(2)?;
        self.take(b':')?;
        Some((hour, self.number(2)?))
    }

    /// Takes `:ss`, with a fraction or without one; in nanoseconds what is less is cut off.
    fn seconds(&mut self) -> Option<(i16, i32)> {
        self.take(b':')?;
        let seconds = self.number(2)?;
        if self.0.first() != Some(&b'.') {
            return Some((seconds, 0));
        }
        let digits = self.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (fraction, rest) = self.0[1..].split_at(digits);
        self.0 = rest;
        let nanoseconds =
            fraction.iter().chain([b'0'; 9].iter()).take(9).fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        (digits > 0).then_some((seconds, nanoseconds))
    }

    /// Takes the rest as a zone; none at all is UTC.
    fn zone(&mut self) -> Option<Offset> {
        if self.is_empty() || matches!(self.0, b"Z" | b"z") {
            return Some(Offset::UTC);
        }
        let sign = if self.one_of(b"+-")? == b'-' { -1 } else { 1 };
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let _ = self.take(b':');
        let minutes = self.number(2).filter(|minutes| *minutes < 60)?;
        let minutes = i32::from(hours) * 60 + i32::from(minutes);
        self.is_empty().then(|| Offset::from_seconds(sign * minutes * SECONDS_PER_MINUTE).ok())?
    }
}

fn date_and_time(text: &str) -> Option<Timestamp> {
    let mut rest = Rest(text.as_bytes());
    if let Some(date) = Rest(text.as_bytes()).date(b'/').filter(|_| text.len() == "YYYY/MM/DD".len()) {
        return midnight(date);
    }
    let date = rest.date(b'-')?;
    if rest.is_empty() {
        return midnight(date);
    }
    let separator = rest.one_of(b"Tt ")?;
    let (hour, minute) = rest.hour_and_minute()?;
    if separator == b' ' && rest.0 == b"Z" {
        return moment(date, time(hour, minute, 0, 0)?, Offset::UTC);
    }
    let (second, nanosecond) = rest.seconds()?;
    moment(date, time(hour, minute, second, nanosecond)?, rest.zone()?)
}

/// `Mon Jan _2 15:04:05 MST 2006`; as Go does, several spaces are taken for one.
fn unix_date(text: &str) -> Option<Timestamp> {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let mut word = || words.next();
    let (weekday, month, day, clock, zone, year) = (word()?, word()?, word()?, word()?, word()?, word()?);
    if word().is_some() || !matches!(zone, "UTC" | "GMT") || year.len() != 4 {
        return None;
    }
    let date = date(digits_of(year.as_bytes())?, place(&MONTHS, month)?, one_or_two_digits(day)?)?;
    if i16::from(date.weekday().to_monday_one_offset()) != place(&WEEKDAYS, weekday)? {
        return None;
    }
    let mut clock = Rest(clock.as_bytes());
    let (hour, minute) = clock.hour_and_minute()?;
    let (second, nanosecond) = clock.seconds()?;
    let time = time(hour, minute, second, nanosecond).filter(|_| clock.is_empty())?;
    moment(date, time, Offset::UTC)
}

/// `D/M/YYYY` or `M/D/YYYY`, where no other day can be meant.
fn day_and_month(text: &str) -> Option<Timestamp> {
    let (first, rest) = text.split_once('/')?;
    let (second, year) = rest.split_once('/')?;
    let (first, second) = (one_or_two_digits(first)?, one_or_two_digits(second)?);
    let year = digits_of(year.as_bytes()).filter(|_| year.len() == 4)?;
    match (date(year, first, second), date(year, second, first)) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => midnight(one.or(other)?),
    }
}

fn midnight(date: Date) -> Option<Timestamp> {
    moment(date, Time::midnight(), Offset::UTC)
}

fn moment(date: Date, time: Time, zone: Offset) -> Option<Timestamp> {
    zone.to_timestamp(date.to_datetime(time)).ok()
}

fn date(year: i16, month: i16, day: i16) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn time(hour: i16, minute: i16, second: i16, nanosecond: i32) -> Option<Time> {
    let [hour, minute, second] = [hour, minute, second].map(i8::try_from);
    Time::new(hour.ok()?, minute.ok()?, second.ok()?, nanosecond).ok()
}

/// The place of a name in a list, from 1, in any letter case.
fn place(names: &[&str], name: &str) -> Option<i16> {
    let at = names.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    i16::try_from(at + 1).ok()
}

fn one_or_two_digits(text: &str) -> Option<i16> {
    digits_of(text.as_bytes()).filter(|_| text.len() <= 2)
}

/// The number that these digits are: at least one, at most four.
fn digits_of(text: &[u8]) -> Option<i16> {
    let is_number = matches!(text.len(), 1..=4) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, |number, digit| number * 10 + i16::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
