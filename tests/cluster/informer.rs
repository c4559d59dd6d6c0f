//! An informer of Kubernetes' own client library, through a real kube-apiserver: its cache is what
//! is served, whatever happens.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use testing::{Folders, eventually, fixture};

use crate::support::Aggregated;

/// Number of packages that there are now and then.
const PACKAGES: u32 = 100;

/// Number of contents; each changes more than half of the packages of the one before.
const CONTENTS: u32 = 18;

/// Default channels of packages, by the packages' names.
pub(crate) type State = BTreeMap<String, String>;

/// A running informer; killed when it is dropped.
pub(crate) struct Informer {
    child: Child,
    stdin: ChildStdin,
    /// What it has printed.
    lines: Arc<Mutex<Vec<Value>>>,
}

impl Informer {
    /// `None` where it is not built.
    #[track_caller]
    pub(crate) fn start(api: &Aggregated) -> Option<Self> {
        let program = testing::informer()?;
        let mut command = Command::new(program);
        command
            .arg(api.plane.kubeconfig())
            .arg("olm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = child.stdout.take().expect("a pipe");
        let lines = Arc::<Mutex<Vec<Value>>>::default();
        let received = Arc::clone(&lines);
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("it prints JSON");
                received.lock().expect("no reader panics").push(line);
            }
        });
        Some(Self {
            child,
            stdin,
            lines,
        })
    }

    /// The packages in its cache.
    fn state(&mut self) -> State {
        let states = |lines: &[Value]| {
            lines
                .iter()
                .filter_map(|line| line.get("state"))
                .cloned()
                .collect::<Vec<_>>()
        };
        let count = states(&self.lines.lock().expect("no writer panics")).len();
        writeln!(self.stdin, "state").expect("it reads");
        let state = eventually(|| {
            states(&self.lines.lock().expect("no writer panics"))
                .get(count)
                .cloned()
        });
        serde_json::from_value(state).expect("names and channels")
    }

    /// The number of its notifications.
    pub(crate) fn notifications(&self) -> usize {
        self.lines
            .lock()
            .expect("no writer panics")
            .iter()
            .filter(|line| line.get("event").is_some())
            .count()
    }

    /// Waits until its cache is this.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expected: &State) {
        eventually(|| (self.state() == *expected).then_some(()));
    }

    /// The state to which its notifications lead, and how many of them had a change. After a list,
    /// an informer notifies of objects that did not change, too.
    #[track_caller]
    pub(crate) fn replay(&self) -> (State, usize) {
        let mut state = State::new();
        let mut changes = 0;
        for line in &*self.lines.lock().expect("no writer panics") {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let former = match text("event").as_str() {
                "add" => (false, state.insert(text("name"), text("channel"))),
                "update" => (true, state.insert(text("name"), text("channel"))),
                "delete" => (true, state.remove(&text("name"))),
                _ => continue,
            };
            assert_eq!(former.0, former.1.is_some(), "{line} after {:?}", former.1);
            changes += usize::from(former.1 != Some(text("channel")) || text("event") == "delete");
        }
        (state, changes)
    }
}

impl Drop for Informer {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// The packages of a content.
pub(crate) fn content(number: u32) -> State {
    let exists = |at: &u32| !(number + at).is_multiple_of(10);
    (0..PACKAGES)
        .filter(exists)
        .map(|at| {
            (
                format!("p{at:02}"),
                format!("c{}", u32::midpoint(number, at)),
            )
        })
        .collect()
}

/// Serves a content from now on.
pub(crate) fn publish(folder: &std::path::Path, number: u32) {
    let package = |(name, channel): (String, String)| {
        format!(
            "package {name} default={channel}\nchannel {channel}: v1.0.0\nbundle v1.0.0 display={name} provider=P\n"
        )
    };
    let text: String = content(number).into_iter().map(package).collect();
    let new = folder.join(".new");
    std::fs::write(&new, fixture::lines(&text)).expect("it can be written");
    std::fs::rename(new, folder.join("catalog.json")).expect("it can be replaced");
}

#[test]
fn an_informer_neither_loses_nor_doubles_a_package_whatever_happens() {
    let folders = Folders::new();
    folders.write("catalog/.indexignore", ".new\n");
    let folder = folders.path("catalog");
    publish(&folder, 0);
    let arguments = vec!["--watch".to_owned(), folders.text("catalog")];
    let Some(mut api) = Aggregated::start(folders, arguments) else {
        return;
    };
    let Some(mut informer) = Informer::start(&api) else {
        return;
    };
    informer.wait_for(&content(0));
    for number in 1..=CONTENTS {
        match number {
            // The versions that the informer knows are unknown to the new process: it lists again.
            6 => api.restart(|| publish(&folder, number)),
            9 => {
                api.restart(|| ());
                publish(&folder, number);
            }
            // The API server ends every watch.
            12 => {
                api.plane.stop_api_server();
                publish(&folder, number);
                api.plane.start_api_server();
            }
            _ => publish(&folder, number),
        }
        informer.wait_for(&content(number));
    }
    let (state, changes) = informer.replay();
    assert_eq!(state, content(CONTENTS));
    assert!(changes > 1_000, "{changes}");
}
