//! Work on every core, for what reads and prints whole catalogs.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// Applies a function to items on the threads of this machine, each with a state of its own, and
/// passes the results on in the order of the items. Threads wait when results are taken more slowly
/// than they are made.
///
/// # Errors
/// The first in the order of the items.
pub fn in_order<'i, I: Sync, S, O: Send, E: Send>(
    items: &'i [I],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &'i I) -> Result<O, E> + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(items.len());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads);
        for _ in 0..threads {
            let sender = sender.clone();
            let next = &next;
            let state = &state;
            let work = &work;
            scope.spawn(move || {
                let mut state = state();
                // One by one, because some items are much larger than others.
                let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                for (at, item) in numbers.map_while(|at| Some((at, items.get(at)?))) {
                    if sender.send((at, work(&mut state, item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut taken = 0;
        for (at, result) in receiver {
            early.insert(at, result);
            while let Some(result) = early.remove(&taken) {
                take(result?)?;
                taken += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_up_to_the_first_error() {
        let items: Vec<usize> = (0..1_000).collect();
        let mut taken = Vec::new();
        let double = |(): &mut (), item: &usize| Ok::<_, String>(2 * item);
        let take = |result| {
            taken.push(result);
            Ok(())
        };
        in_order(&items, || (), double, take).unwrap();
        assert_eq!(taken, (0..2_000).step_by(2).collect::<Vec<_>>());

        let mut count = 0;
        let fail = |(): &mut (), item: &usize| {
            if *item < 500 {
                Ok(())
            } else {
                Err(format!("item {item}"))
            }
        };
        let take = |()| {
            count += 1;
            Ok(())
        };
        assert_eq!(
            in_order(&items, || (), fail, take),
            Err("item 500".to_owned())
        );
        assert_eq!(count, 500);
        let closed = |_| Err("closed".to_owned());
        assert!(in_order(&items, || (), double, closed).is_err());
        assert!(in_order(&[], || (), double, closed).is_ok());
    }
}
