//! A process that does not outlive the process of the tests, however that ends. A shell guards it:
//! once the pipe to the shell is closed, which the kernel does for a process that is killed too, it
//! kills the process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Runs what its arguments say, after the file for what that prints (`$0`) and the folder to remove
/// at the end (`$1`).
const GUARD: &str = r#"
    folder=$1
    shift
    exec 3<&0
    "$@" </dev/null >>"$0" 2>&1 3<&- &
    child=$!
    { cat; kill -9 $child; [ -z "$folder" ] || rm -rf "$folder"; } <&3 >/dev/null 2>&1 &
    watch=$!
    exec 3<&-
    echo $child
    wait $child
    kill $watch
"#;

/// A running process; killed when this is dropped.
pub(super) struct ProcessGuard {
    shell: Child,
    /// Closed to end the process.
    stdin: Option<ChildStdin>,
    id: u32,
}

impl ProcessGuard {
    /// Starts a command, of which only the program and the arguments count. What it prints is
    /// appended to `log`. Where the process of the tests ends before this is dropped, `folder` is
    /// removed.
    pub(super) fn start(command: &Command, log: &Path, folder: Option<&Path>) -> Self {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", GUARD])
            .arg(log)
            .arg(folder.unwrap_or(Path::new("")));
        shell.arg(command.get_program()).args(command.get_args());
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut shell = shell.spawn().expect("there is a shell");
        let mut line = String::new();
        let stdout = shell.stdout.take().expect("it is a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the shell prints text");
        let id = line
            .trim_end()
            .parse()
            .expect("the shell prints a process id");
        let stdin = shell.stdin.take();
        Self { shell, stdin, id }
    }

    /// Returns the id of the process.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Returns whether the process ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.shell.try_wait().expect("it is a child").is_some()
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.shell.wait();
    }
}
