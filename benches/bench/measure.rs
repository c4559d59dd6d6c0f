//! Measuring on a shared machine: CPU time of this thread, the least of several runs, and ratios
//! within one run.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time that this thread has used.
pub(crate) fn thread_cpu() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// Calls once, and returns the CPU time with what was made.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = thread_cpu();
    let made = work();
    (thread_cpu().saturating_sub(start), made)
}

/// Returns the least CPU time of several calls.
pub(crate) fn least<T>(runs: usize, mut work: impl FnMut() -> T) -> Duration {
    (0..runs)
        .map(|_| once(|| std::hint::black_box(work())).0)
        .min()
        .expect("at least one run")
}

/// Returns the CPU time of one call in the fastest of several runs of many, for calls that are too
/// short for the clock.
pub(crate) fn least_of_many<T>(runs: usize, calls: u32, mut work: impl FnMut() -> T) -> Duration {
    least(runs, || {
        (0..calls).for_each(|_| drop(std::hint::black_box(work())));
    }) / calls
}

/// Returns a percentile: the time that `percent` of a hundred calls do not exceed.
pub(crate) fn percentile(percent: usize, times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.into_iter().collect();
    times.sort_unstable();
    times[(times.len() * percent).div_ceil(100) - 1]
}

/// Prints a line of the report: a name, a figure, and whether it meets its bar.
pub(crate) fn report(what: &str, figure: &str, bar: Option<(bool, &str)>) {
    match bar {
        None => println!("  {what:<58} {figure:>16}"),
        Some((is_met, bar)) => println!(
            "  {what:<58} {figure:>16}   {} {bar}",
            if is_met { "ok:" } else { "MISSED:" }
        ),
    }
}

/// Reports the ratio of two times, which is to be at most `most`.
pub(crate) fn at_most(what: &str, time: Duration, yardstick: Duration, most: f64) {
    let ratio = time.as_secs_f64() / yardstick.as_secs_f64();
    report(
        what,
        &format!("{ratio:.2} ×"),
        Some((
            ratio <= most,
            &format!("at most {most} × ({time:.1?} / {yardstick:.1?})"),
        )),
    );
}

/// Reports the ratio of two speeds, which is to be at least `least`.
pub(crate) fn at_least(what: &str, speed: f64, yardstick: f64, least: f64) {
    let ratio = speed / yardstick;
    report(
        what,
        &format!("{ratio:.1} ×"),
        Some((ratio >= least, &format!("at least {least} ×"))),
    );
}

/// Reports a time, which is to be at most `most`.
pub(crate) fn within(what: &str, time: Duration, most: Duration) {
    report(
        what,
        &format!("{time:.2?}"),
        Some((time <= most, &format!("at most {most:?}"))),
    );
}

/// Returns the CPU time that all threads of this process have used.
pub(crate) fn process_cpu() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

fn duration(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).expect("a CPU clock starts at 0");
    Duration::new(
        seconds,
        u32::try_from(time.tv_nsec).expect("less than a second"),
    )
}
