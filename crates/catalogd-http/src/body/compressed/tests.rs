//! Compression in steps: what comes out, how much is done at a time, and what a body holds.

use super::*;
use admission::Permits;

/// Slices of every second line of a content with random numbers, and their text.
fn slices() -> (Slices, Vec<u8>) {
    let mut random = fastrand::Rng::with_seed(3);
    let lines: Vec<String> = (0..40_000)
        .map(|_| format!("{{\"number\":{:020}}}\n", random.u64(..)))
        .collect();
    let content = Bytes::from(lines.concat());
    let mut slices = Slices::new(content.clone());
    let mut start = 0;
    let mut text = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if number % 2 == 0 {
            slices.push(start..start + line.len());
            text.extend_from_slice(line.as_bytes());
        }
        start += line.len();
    }
    (slices, text)
}

#[test]
fn a_body_is_compressed_in_bounded_steps() {
    for coding in Coding::ALL {
        let (slices, text) = slices();
        let mut left = slices.length();
        let mut steps = 0;
        let mut frames = Vec::new();
        let permit = Permits::new(1).try_acquire(Peer::default(), 1).unwrap();
        let mut body = CompressedSlices::new(slices, coding, permit).unwrap();
        while let Some(frame) = body.next() {
            frames.push(frame.unwrap());
            let now = body.slices.length();
            assert!(
                left - now <= STEP_BYTES as u64,
                "{coding:?}: one turn compresses one step at most"
            );
            steps += usize::from(now < left);
            left = now;
        }
        assert_eq!(steps, text.len().div_ceil(STEP_BYTES), "{coding:?}");
        let largest = frames.iter().map(Bytes::len).max().unwrap();
        assert!(
            (1..=2 * STEP_BYTES).contains(&largest),
            "{coding:?}: {largest}"
        );
        let compressed = frames.concat();
        let mut plain = Vec::new();
        match coding {
            Coding::Gzip => {
                std::io::Read::read_to_end(
                    &mut flate2::read::GzDecoder::new(&*compressed),
                    &mut plain,
                )
                .unwrap();
            }
            Coding::Zstd => plain = zstd::decode_all(&*compressed).unwrap(),
        }
        assert!(
            plain == text,
            "{coding:?}: the client reads what the slices say"
        );
        assert!(compressed.len() < text.len() * 3 / 4, "{coding:?}");
    }
}

#[test]
fn a_body_holds_its_permit_until_it_is_dropped() {
    let permits = Permits::new(1);
    let permit = permits.try_acquire(Peer::default(), 1).unwrap();
    let body = CompressedSlices::new(Slices::new(Bytes::new()), Coding::Gzip, permit).unwrap();
    assert_eq!(permits.used(), 1);
    drop(body);
    assert_eq!(permits.used(), 0);
}
