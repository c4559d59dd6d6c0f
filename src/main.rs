//! The program: parses its arguments and calls [`run`](catalogql::run).

use std::process::ExitCode;

use catalogql::args::Args;
use catalogql::run;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    run::run(Args::read())
}
