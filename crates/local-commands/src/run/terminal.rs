//! Progress bars while catalogs are loaded, and log lines that do not break them. Without a
//! terminal there are no bars.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Mutex;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use loading::LoadStep;
use tracing_subscriber::fmt::MakeWriter;

/// The progress bars of a command.
#[derive(Default)]
pub struct Terminal {
    bars: MultiProgress,
    by_name: Mutex<HashMap<String, ProgressBar>>,
}

/// Writes log lines above the bars.
#[derive(Clone)]
pub struct Log(MultiProgress);

impl Terminal {
    /// Returns the writer of log lines.
    pub fn log(&self) -> Log {
        Log(self.bars.clone())
    }

    /// Shows how far the step of a catalog is, in bytes.
    pub fn progress(&self, name: &str, step: LoadStep, done: u64, total: u64) {
        let mut by_name = self.by_name.lock().expect("no holder of this lock panics");
        let bar = by_name.entry(name.to_owned()).or_insert_with(|| {
            let template = "{prefix:16} {msg:9} {bar:20} {bytes:>10} of {total_bytes}";
            let style =
                ProgressStyle::with_template(template).expect("the template is well-formed");
            self.bars.add(
                ProgressBar::new(total)
                    .with_style(style)
                    .with_prefix(name.to_owned()),
            )
        });
        bar.set_message(match step {
            LoadStep::Fetch => "fetching",
            LoadStep::Unpack => "unpacking",
            LoadStep::Read => "reading",
        });
        bar.set_length(total);
        bar.set_position(done);
    }

    /// Removes the bar of a catalog.
    pub fn done(&self, name: &str) {
        if let Some(bar) = self
            .by_name
            .lock()
            .expect("no holder of this lock panics")
            .remove(name)
        {
            bar.finish_and_clear();
        }
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
