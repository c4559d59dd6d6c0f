//! What the documentation shows of the plugin is what it prints.

use std::path::Path;

use catalogql_client as client;

use crate::support::example;

/// Set to write the documentation anew.
const UPDATE: &str = "UPDATE_EXPECT";

fn path(page: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)
}

#[test]
fn the_commands_of_the_how_to_print_what_it_shows() {
    let server = example();
    let page = path("docs/how-to/kubectl-catalog.md");
    let text = std::fs::read_to_string(&page).expect("it is text");
    let (mut written, mut in_block, mut commands) = (String::new(), false, 0);
    for line in text.lines() {
        if line == "```console" {
            in_block = true;
        } else if in_block && line == "```" {
            in_block = false;
        } else if let (true, Some(command)) = (in_block, line.strip_prefix("$ kubectl catalog ")) {
            commands += 1;
            let words: Vec<_> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
            let output = server.run(&words);
            assert_eq!(output.status, Some(0), "{command}: {output:?}");
            let shown = output.stdout.lines().map(str::trim_end);
            written = std::iter::once(line).chain(shown).fold(written, |all, line| all + line + "\n");
            continue;
        } else if in_block {
            continue;
        }
        written += line;
        written.push('\n');
    }
    assert_eq!(commands, 8, "commands in the page");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&page, &written).expect("files can be written");
    }
    assert!(
        std::env::var_os(UPDATE).is_some() || written == text,
        "{UPDATE}=1 writes {} anew:\n{written}",
        page.display()
    );
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
    ] {
        let row = text.lines().find(|line| line.starts_with(&format!("| {name} |")));
        let shown = row.and_then(|row| row.split(" | ").nth(1)).map(|value| value.replace(',', ""));
        assert_eq!(shown.as_deref(), Some(value.as_str()), "docs/reference/limits.md: {name}");
    }
}

#[test]
fn the_example_in_python_lists_heads_and_is_confirmed_the_second_time() {
    let server = example();
    let mut command = std::process::Command::new("python3");
    let output = command.arg(path("docs/how-to/ask-from-python.py")).args([&server.url(), "quillstore"]).output();
    let output = output.expect("there is Python 3");
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "example\tcandidate\tquillstore.v2.0.0-rc.1\nexample\tstable\tquillstore.v1.4.0\n";
    assert_eq!(text, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(server.statuses(), [200, 304]);
}
