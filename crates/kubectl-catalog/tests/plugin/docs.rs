//! What the documentation shows of the plugin is what it prints.

use std::path::Path;

use ::commands::migration::MAX_NAMED_OBJECTS;
use catalogql_client as client;

use serving::CatalogMetadata;

use crate::migration::{COMMUNITY_IMAGE, community_cluster};
use crate::support::{EXAMPLE, Server, copy, example};

/// Set to write the documentation anew.
const UPDATE: &str = "UPDATE_EXPECT";

fn path(page: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page)
}

/// What a console shows before the commands of the plugin.
const PROMPT: &str = "$ kubectl catalog ";

/// The command that shows the exit status of the one before it.
const STATUS: &str = "$ echo $?";

/// The pages with the number of commands in each.
const PAGES: [(&str, usize); 7] = [
    ("kubectl-catalog", 3),
    ("move-to-olm-v1", 2),
    ("find-an-operator", 6),
    ("plan-an-upgrade", 6),
    ("mirror-images", 2),
    ("preview-an-install", 1),
    ("gate-a-pull-request", 3),
];

/// The page with the commands run, each with further arguments, and their number.
fn with_commands_run(server: &Server, text: &str, further: &[&str]) -> (String, usize) {
    let mut written = String::new();
    let mut in_block = false;
    let mut is_ours = false;
    let mut commands = 0;
    let mut lines = text.lines().peekable();
    let mut status = None;
    while let Some(line) = lines.next() {
        if line == "```console" {
            in_block = true;
            is_ours = lines.peek().is_some_and(|first| first.starts_with(PROMPT));
        } else if in_block && line == "```" {
            in_block = false;
            assert_eq!(
                status.take().unwrap_or_default(),
                0,
                "the status of the last command before: {written}"
            );
        }
        let shown = match line.strip_prefix(PROMPT).filter(|_| in_block && is_ours) {
            Some(command) => {
                assert_eq!(
                    status.unwrap_or_default(),
                    0,
                    "the status of the last command before {command}"
                );
                commands += 1;
                let words: Vec<_> = words(command);
                let words = words.iter().map(String::as_str);
                let output = server.run(&words.chain(further.iter().copied()).collect::<Vec<_>>());
                status = output.status;
                output.stdout + &output.stderr
            }
            None if in_block && is_ours && line == STATUS => {
                format!("{}\n", status.take().expect("a command is before it"))
            }
            None if in_block && is_ours && line != "```console" => continue,
            None => String::new(),
        };
        let shown = shown.lines().map(str::trim_end);
        written = std::iter::once(line)
            .chain(shown)
            .fold(written, |all, line| all + line + "\n");
    }
    (written, commands)
}

/// The words of a command line in which some are quoted.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

/// Serves the example as it is and with one more version of a package, as a pull request would add
/// it.
fn serve_pull_request(server: &Server) {
    server.serve("before", Path::new(EXAMPLE), CatalogMetadata::default());
    let folder = server.folders.path("after");
    copy(Path::new(EXAMPLE), &folder);
    let file = folder.join("lampglow/catalog.yaml");
    let text = std::fs::read_to_string(&file).expect("it is text");
    let entry = "  - name: lampglow.v0.5.2\n    replaces: lampglow.v0.5.1\n";
    assert!(text.contains(entry), "{text}");
    let text = text.replace(
        entry,
        &format!("{entry}  - name: lampglow.v0.5.3\n    replaces: lampglow.v0.5.2\n"),
    );
    let bundle = "schema: olm.bundle\npackage: lampglow\nname: lampglow.v0.5.3\nimage: registry.example.com/lampglow:0.5.3\n\
                  properties:\n- type: olm.package\n  value: {packageName: lampglow, version: 0.5.3}\n";
    std::fs::write(&file, format!("{text}\n---\n{bundle}")).expect("files can be written");
    server.serve("after", &folder, CatalogMetadata::default());
}

/// Serves a part of a real catalog, and returns the flags that name the objects of a cluster that has
/// some of it installed.
fn serve_installed(server: &Server) -> Vec<String> {
    let metadata = CatalogMetadata {
        image_reference: Some(COMMUNITY_IMAGE.to_owned()),
        ..CatalogMetadata::default()
    };
    server.serve("community", &path("tests/testdata/community"), metadata);
    server
        .folders
        .write("objects.json", community_cluster().to_string());
    let file = server.folders.path("objects.json");
    let file = file.to_str().expect("temporary paths are UTF-8");
    vec!["--file".to_owned(), file.to_owned()]
}

#[test]
fn the_commands_of_the_how_to_pages_print_what_they_show() {
    for (page, count) in PAGES {
        let server = match page {
            "gate-a-pull-request" | "move-to-olm-v1" => Server::start(),
            _ => example(),
        };
        let mut further = Vec::new();
        match page {
            "gate-a-pull-request" => serve_pull_request(&server),
            "move-to-olm-v1" => further = serve_installed(&server),
            _ => {}
        }
        let further: Vec<_> = further.iter().map(String::as_str).collect();
        let path = path(&format!("docs/how-to/{page}.md"));
        let text = std::fs::read_to_string(&path).expect("it is text");
        let (written, commands) = with_commands_run(&server, &text, &further);
        assert_eq!(commands, count, "commands in {page}");
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, &written).expect("files can be written");
        } else {
            assert!(
                written == text,
                "{UPDATE}=1 writes {} anew:\n{written}",
                path.display()
            );
        }
    }
}

#[test]
fn every_limit_of_clients_is_in_the_reference_with_its_value() {
    let text = std::fs::read_to_string(path("docs/reference/limits.md")).expect("it is text");
    let seconds = |duration: std::time::Duration| format!("{} s", duration.as_secs());
    for (name, value) in [
        ("client cache", client::MAX_CACHE_BYTES.to_string()),
        ("client request", client::MAX_GET_BYTES.to_string()),
        ("client response", client::MAX_RESPONSE_BYTES.to_string()),
        ("client time", seconds(client::DEFAULT_TIMEOUT)),
        ("client retries", client::MAX_RETRIES.to_string()),
        ("client wait", seconds(client::MAX_RETRY_WAIT)),
        ("client silence", seconds(client::MAX_SILENCE)),
        ("client service", seconds(client::MAX_SERVICE_AGE)),
        ("cluster page", client::MAX_PAGE_OBJECTS.to_string()),
        ("cluster pages", client::MAX_OBJECT_PAGES.to_string()),
        ("migration names", MAX_NAMED_OBJECTS.to_string()),
    ] {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| {name} |")));
        let shown = row
            .and_then(|row| row.split(" | ").nth(1))
            .map(|value| value.replace(',', ""));
        assert_eq!(
            shown.as_deref(),
            Some(value.as_str()),
            "docs/reference/limits.md: {name}"
        );
    }
}

#[test]
fn the_example_in_python_lists_heads_and_is_confirmed_the_second_time() {
    let server = example();
    let mut command = std::process::Command::new("python3");
    let output = command
        .arg(path("docs/how-to/ask-from-python.py"))
        .args([&server.url(), "quillstore"])
        .output();
    let output = output.expect("there is Python 3");
    let text = String::from_utf8_lossy(&output.stdout);
    let expected =
        "example\tcandidate\tquillstore.v2.0.0-rc.1\nexample\tstable\tquillstore.v1.4.0\n";
    assert_eq!(
        text,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(server.statuses(), [200, 304]);
}
