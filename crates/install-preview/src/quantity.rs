//! Quantities of resources, in the canonical form in which Kubernetes writes them.

/// Quantities are exact to this part of a unit; smaller parts are rounded up.
const NANOS: u128 = 1_000_000_000;

/// Largest amount that Kubernetes keeps, in units.
const MAX_UNITS: u128 = i64::MAX as u128;

/// Suffixes of powers of ten, in steps of a thousand from the smallest.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Suffixes of powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Notation of a quantity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuantityFormat {
    Binary,
    Decimal,
    Exponent,
}

/// Returns the canonical form of a quantity; `None` if it is not one.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }

    let (format, factor) = read_suffix(suffix)?;
    let nanos = nanos(whole, fraction.trim_end_matches('0'), factor)?;
    if nanos == 0 {
        return Some("0".to_owned());
    }
    let is_small = nanos < 1024 * NANOS;
    let written = match format {
        QuantityFormat::Binary if !is_small => write_binary(nanos),
        QuantityFormat::Binary | QuantityFormat::Decimal => write_decimal(nanos, false),
        QuantityFormat::Exponent => write_decimal(nanos, true),
    };
    Some(format!("{sign}{written}"))
}

/// Factor of a suffix: a power of 2 or 10.
#[derive(Clone, Copy)]
enum Factor {
    Two(u32),
    Ten(i32),
}

fn read_suffix(suffix: &str) -> Option<(QuantityFormat, Factor)> {
    if let Some(at) = BINARY[1..].iter().position(|known| *known == suffix) {
        let power = 10 * (u32::try_from(at).ok()? + 1);
        return Some((QuantityFormat::Binary, Factor::Two(power)));
    }
    if let Some(at) = DECIMAL.iter().position(|known| *known == suffix) {
        let power = 3 * (i32::try_from(at).ok()? - 3);
        return Some((QuantityFormat::Decimal, Factor::Ten(power)));
    }
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-100..=100)
        .contains(&power)
        .then_some((QuantityFormat::Exponent, Factor::Ten(power)))
}

/// Computes an amount in billionths, rounded up and cut off at the maximum.
fn nanos(whole: &str, fraction: &str, factor: Factor) -> Option<u128> {
    let whole = whole.trim_start_matches('0');
    let maximum = Some(MAX_UNITS * NANOS);
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // More digits than that are either beyond the maximum or below a billionth.
    if whole.len() > 19 {
        return maximum;
    }
    if digits.len() > 36 {
        return None;
    }
    let mantissa: u128 = digits.parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?;
    let (mantissa, power) = match factor {
        Factor::Ten(power) => (mantissa, power + 9 - scale),
        Factor::Two(power) => match mantissa.checked_mul(1 << power) {
            Some(mantissa) => (mantissa, 9 - scale),
            None => return maximum,
        },
    };
    let shift = 10_u128.checked_pow(power.unsigned_abs());
    let amount = match (power >= 0, shift) {
        (true, Some(shift)) => match mantissa.checked_mul(shift) {
            Some(amount) => amount,
            None => return maximum,
        },
        (true, None) => return maximum,
        (false, Some(shift)) => mantissa.div_ceil(shift),
        (false, None) => 1,
    };
    Some(amount.min(MAX_UNITS * NANOS))
}

/// Writes whole units, rounded up, with the largest suffix that divides them.
fn write_binary(nanos: u128) -> String {
    let mut units = nanos.div_ceil(NANOS);
    let mut at = 0;
    while units.is_multiple_of(1024) && at + 1 < BINARY.len() {
        units /= 1024;
        at += 1;
    }
    format!("{units}{}", BINARY[at])
}

/// Writes an amount with the largest power of a thousand that divides it.
fn write_decimal(nanos: u128, as_exponent: bool) -> String {
    let mut amount = nanos;
    let mut at = 0;
    while amount.is_multiple_of(1000) && at + 1 < DECIMAL.len() {
        amount /= 1000;
        at += 1;
    }
    if !as_exponent {
        return format!("{amount}{}", DECIMAL[at]);
    }
    match 3 * at {
        9 => amount.to_string(),
        power if power > 9 => format!("{amount}e{}", power - 9),
        power => format!("{amount}e-{}", 9 - power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_has_one_canonical_form() {
        for (text, expected) in [
            ("0", "0"),
            ("0Mi", "0"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("2.", "2"),
            ("+1", "1"),
            ("-1500m", "-1500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1500k", "1500k"),
            ("100M", "100M"),
            ("128974848", "128974848"),
            ("129e6", "129e6"),
            ("1e1", "10"),
            ("12E3", "12e3"),
            ("64Mi", "64Mi"),
            ("1024Mi", "1Gi"),
            ("1000Ki", "1000Ki"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.1Gi", "107374183"),
            ("0.5Ki", "512"),
            ("1Ki", "1Ki"),
            ("0.0000000001", "1n"),
            ("10u", "10u"),
            ("9223372036854775808", "9223372036854775807"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_has_no_digits_or_an_unknown_suffix_is_no_quantity() {
        for text in [
            "", ".", "Mi", "1 Mi", "1mi", "1KI", "1e", "1.2.3", "x", "--1", "1e1000",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
