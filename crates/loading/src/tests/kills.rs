//! The state after a kill at any step of a pull, and after the restart that follows.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

use super::images::desired;
use super::*;
use testing::{CONFIGS, Layout};

/// Set in the process that is to die, to the folder of its sources and its store.
const DIE_IN: &str = "CATALOGQL_TEST_PULL_IN";

/// Set in the process that is to die, to a step of the pull and how often it is told of before; or
/// else the store's [`STORE_DIE_AT`] is.
const DIE_AT: &str = "CATALOGQL_TEST_PULL_DIE_AT";

/// Set in the process that is to die, to the step of the store at which it does.
const STORE_DIE_AT: &str = "CATALOGQL_TEST_DIE_AT";

/// At how many moments of each step processes are killed.
const MOMENTS: usize = 4;

/// Number of processes that are killed in parallel: they mostly wait for the disk.
const AT_ONCE: usize = 8;

/// The test that is run in the process that is to die.
const TEST: &str = "tests::kills::a_kill_at_any_step_of_a_pull_leaves_a_content_and_the_next_start_has_the_new_one";

/// Every step of the store in a pull, in order.
const STORE_STEPS: [&str; 17] = [
    "Scratch Created",
    "Content Created",
    "Content Written",
    "Content Synced",
    "Content Renamed",
    "Content FolderSynced",
    "Analysis Created",
    "Analysis Written",
    "Analysis Synced",
    "Analysis Renamed",
    "Analysis FolderSynced",
    "Record Created",
    "Record Written",
    "Record Synced",
    "Record Renamed",
    "Record FolderSynced",
    "Content Removed",
];

/// A package whose description no compression makes small.
fn large(name: &str) -> String {
    let mut random = fastrand::Rng::with_seed(7);
    let text: String = (0..400_000).map(|_| random.alphanumeric()).collect();
    format!(
        "{{\"schema\":\"olm.package\",\"name\":\"{name}\",\"defaultChannel\":\"\",\"description\":\"{text}\"}}\n"
    )
}

/// Folders with the former image in the store and the latter under its name.
fn replaced() -> Folders {
    let folders = Folders::new(&[]);
    let layout = folders.layout();
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", ETCD)]);
    tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(folders.load(vec![desired("a", &layout.source("v1"))]));
    let files = ["configs/1.json", "configs/2.json"];
    layout.image(
        "v1",
        &[CONFIGS],
        &[(files[0], &large("argo")), (files[1], &large("vault"))],
    );
    folders
}

/// Pulls the current content of the source in this folder, and reports each step.
fn pull(folder: &Path, observe: impl Fn(LoadStep) + Clone + Send + Sync + 'static) -> Report {
    let layout = Layout::at(folder.join("layout"));
    let store = Store::open(&folder.join("store"), DEFAULT_QUOTA_BYTES, "build").unwrap();
    let (writer, _catalogs) = catalogs();
    let last = Arc::new(Mutex::new(None));
    let tried = Arc::clone(&last);
    let observe = move |event| match event {
        LoaderEvent::Progress { step, .. } => observe(step),
        LoaderEvent::Attempted(report) => *tried.lock().unwrap() = Some(report),
        _ => {}
    };
    let desired = vec![desired("a", &layout.source("v1"))];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(load_all(store, writer, desired, observe));
    last.lock().unwrap().take().unwrap()
}

/// Moments of a pull, spread over each of its steps.
fn moments() -> Vec<(LoadStep, usize)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = Arc::clone(&seen);
    let folders = replaced();
    pull(folders.0.path(), move |step| {
        steps.lock().unwrap().push(step);
    });
    let seen = seen.lock().unwrap();
    let of = |step| {
        let count = seen.iter().filter(|other| **other == step).count();
        assert!(count > 0, "{step:?} is never told of");
        let mut moments: Vec<_> = (0..MOMENTS)
            .map(|at| (step, at * (count - 1) / (MOMENTS - 1)))
            .collect();
        moments.dedup();
        moments
    };
    [LoadStep::Fetch, LoadStep::Unpack, LoadStep::Read]
        .into_iter()
        .flat_map(of)
        .collect()
}

#[test]
fn a_kill_at_any_step_of_a_pull_leaves_a_content_and_the_next_start_has_the_new_one() {
    if let Ok(folder) = env::var(DIE_IN) {
        let die_at = env::var(DIE_AT).unwrap_or_default();
        let told = Arc::new(Mutex::new(Vec::new()));
        pull(Path::new(&folder), move |step| {
            let mut told = told.lock().unwrap();
            if die_at
                == format!(
                    "{step:?} {}",
                    told.iter().filter(|other| **other == step).count()
                )
            {
                std::process::abort();
            }
            told.push(step);
        });
        return;
    }
    let moments = moments()
        .into_iter()
        .map(|(step, at)| (DIE_AT, format!("{step:?} {at}")));
    let all: Vec<_> = moments
        .chain(STORE_STEPS.map(|step| (STORE_DIE_AT, step.to_owned())))
        .collect();
    thread::scope(|scope| {
        for some in all.chunks(all.len().div_ceil(AT_ONCE)) {
            scope.spawn(move || {
                for (variable, step) in some {
                    die_and_restart(variable, step);
                }
            });
        }
    });
}

/// Lets another process die at a step of a pull, and then starts where it left off.
fn die_and_restart(variable: &str, step: &str) {
    let folders = replaced();
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", TEST])
        .env(variable, step)
        .env(DIE_IN, folders.0.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(6), "{step} was reached");

    // The source is away: what is kept is served.
    let here = folders.0.path().join("layout");
    let away = folders.0.path().join("away");
    fs::rename(&here, &away).unwrap();
    let kept = pull(folders.0.path(), |_| ());
    let names = packages(&kept).unwrap_or_default();
    assert!(
        names == ["etcd"] || names == ["argo", "vault"],
        "{step}: {names:?}"
    );
    assert!(kept.error().is_some() && folders.scratch() == 0, "{step}");

    fs::rename(&away, &here).unwrap();
    let now = pull(folders.0.path(), |_| ());
    assert_eq!(packages(&now).unwrap(), ["argo", "vault"], "{step}");
    assert!(now.error().is_none() && folders.scratch() == 0, "{step}");
}
