//! Slices: which frames they become, and how long they say they are.

use super::*;

/// The frames, each with whether it lies in the content and was not copied.
fn frames(content: &Bytes, mut slices: Slices) -> Vec<(String, bool)> {
    let place = content.as_ptr_range();
    let mut frames = Vec::new();
    let mut waiting = Context::from_waker(std::task::Waker::noop());
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut slices).poll_frame(&mut waiting) {
        let bytes = frame.into_data().unwrap();
        frames.push((
            String::from_utf8(bytes.to_vec()).unwrap(),
            place.contains(&bytes.as_ptr()),
        ));
    }
    frames
}

#[test]
fn neighbours_are_one_slice_and_nothing_is_copied() {
    let content = Bytes::from(b"0123456789".to_vec());
    let mut slices = Slices::new(content.clone());
    for range in [0..2, 2..4, 5..5, 6..8, 4..6] {
        slices.push(range);
    }
    slices.push_inserted("own".into());
    slices.push(8..10);
    assert_eq!(
        (
            slices.length(),
            slices.size_hint().exact(),
            slices.is_end_stream()
        ),
        (13, Some(13), false)
    );
    let expected = [
        ("0123", true),
        ("67", true),
        ("45", true),
        ("own", false),
        ("89", true),
    ];
    assert_eq!(
        frames(&content, slices),
        expected.map(|(text, ours)| (text.to_owned(), ours))
    );
}

#[test]
fn all_bytes_in_one_are_copied_where_they_are_several() {
    let content = Bytes::from(b"0123456789".to_vec());
    assert_eq!(
        Slices::whole(content.clone()).concat().as_ptr(),
        content.as_ptr()
    );
    let mut slices = Slices::new(content);
    assert_eq!(std::mem::take(&mut slices.queue).len(), 0);
    slices.push(8..10);
    slices.push(0..2);
    assert_eq!(slices.concat(), "8901");
}

#[test]
fn no_slices_have_no_length() {
    assert_eq!(Slices::whole(Bytes::new()).size_hint().exact(), Some(0));
}
