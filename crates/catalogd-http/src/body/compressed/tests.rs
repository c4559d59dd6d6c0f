//! Compression in steps: what comes out, how much is done at a time, and how many bodies are compressed at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;
use http_facts::permits::Permits;

/// Counts how often a body asks to be polled again.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls a body to its end. After each poll, gives the bytes of the slices that are left; returns the output of each
/// frame.
fn drain(mut body: CompressedSlices, mut after_poll: impl FnMut(u64)) -> Vec<Bytes> {
    let wakes = Arc::new(Wakes::default());
    let counting = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&counting);
    let (mut frames, mut pending, mut has_worked) = (Vec::new(), 0, false);
    loop {
        let before = body.slices.length();
        let polled = Pin::new(&mut body).poll_frame(&mut context);
        let works = body.slices.length() < before;
        assert!(!(has_worked && works), "other tasks run between two steps");
        // A poll that is pending has yielded already.
        has_worked = works && polled.is_ready();
        after_poll(body.slices.length());
        match polled {
            Poll::Ready(Some(frame)) => frames.push(frame.unwrap().into_data().unwrap()),
            Poll::Ready(None) => return frames,
            Poll::Pending => {
                pending += 1;
                assert_eq!(wakes.0.load(Ordering::Relaxed), pending, "a body that waits asks to be polled again");
            }
        }
    }
}

/// Slices of every second line of a content with random numbers, and their text.
fn slices() -> (Slices, Vec<u8>) {
    let mut random = fastrand::Rng::with_seed(3);
    let lines: Vec<String> = (0..40_000).map(|_| format!("{{\"number\":{:020}}}\n", random.u64(..))).collect();
    let content = Bytes::from(lines.concat());
    let (mut slices, mut start, mut text) = (Slices::new(content.clone()), 0, Vec::new());
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
fn a_body_is_compressed_in_bounded_steps_and_other_tasks_run_between_them() {
    for coding in Coding::ALL {
        let (slices, text) = slices();
        let (mut left, mut steps) = (slices.length(), 0);
        let body = CompressedSlices::new(slices, coding, Permits::new(1).try_acquire(1).unwrap()).unwrap();
        let frames = drain(body, |now| {
            assert!(left - now <= STEP_BYTES as u64, "{coding:?}: one poll compresses one step at most");
            steps += usize::from(now < left);
            left = now;
        });
        assert_eq!(steps, text.len().div_ceil(STEP_BYTES), "{coding:?}");
        let largest = frames.iter().map(Bytes::len).max().unwrap();
        assert!((1..=2 * STEP_BYTES).contains(&largest), "{coding:?}: {largest}");
        let (compressed, mut plain) = (frames.concat(), Vec::new());
        match coding {
            Coding::Gzip => {
                std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*compressed), &mut plain).unwrap();
            }
            Coding::Zstd => plain = zstd::decode_all(&*compressed).unwrap(),
        }
        assert!(plain == text, "{coding:?}: the client reads what the slices say");
        assert!(compressed.len() < text.len() * 3 / 4, "{coding:?}");
    }
}

#[test]
fn as_many_bodies_are_compressed_at_once_as_there_are_permits() {
    let permits = Permits::new(2);
    let first = permits.try_acquire(1).unwrap();
    let body = CompressedSlices::new(Slices::new(Bytes::new()), Coding::Gzip, permits.try_acquire(1).unwrap()).unwrap();
    assert!(permits.try_acquire(1).is_none());
    drop(body);
    assert!(permits.try_acquire(1).is_some(), "a body that is dropped returns its permit");
    drop(first);
    let both = [permits.try_acquire(1), permits.try_acquire(1), permits.try_acquire(1)];
    assert_eq!(both.map(|permit| permit.is_some()), [true, true, false]);
}
