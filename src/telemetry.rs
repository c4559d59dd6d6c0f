//! Set-up of logging: the filter of messages and their format.

use std::fmt::Display;
use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, fmt};

/// Environment variables with the filter, in the syntax of `tracing_subscriber::EnvFilter`; the
/// first that is set counts.
const VARIABLES: [&str; 2] = ["CATALOGQL_LOG", "RUST_LOG"];

/// The default filter. The Kubernetes client logs each failed request, which its callers log, too. The
/// library of the tools for assistants logs each request, and each `Origin` that it refuses.
const DEFAULT: &str = "info,kube_client::client::builder=off,rmcp=error";

/// The levels, for messages of errors.
const LEVELS: &str = "error, warn, info, debug, trace and off";

/// Logs to this writer: text when the standard error output is a terminal, one JSON object a line
/// otherwise.
///
/// # Errors
/// An environment variable has no valid filter. The text names it.
pub fn init<W>(writer: W) -> Result<(), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let log = fmt()
        .with_env_filter(filter(|name| std::env::var(name).ok())?)
        .with_writer(writer)
        .with_target(false);
    if std::io::stderr().is_terminal() {
        log.compact().without_time().init();
    } else {
        log.json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init();
    }
    Ok(())
}

/// Returns whether a word is no level.
fn is_unknown(word: &str) -> bool {
    word.trim().parse::<LevelFilter>().is_err()
}

fn filter(variable: impl Fn(&str) -> Option<String>) -> Result<EnvFilter, String> {
    for name in VARIABLES {
        if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
            let refuse = |error: &dyn Display| format!("{name} is `{text}`: {error}");
            // `EnvFilter` would take it for the name of a module, and log nothing else.
            if let Some(word) = text
                .split(',')
                .find(|part| !part.contains(['=', '[', ':']) && is_unknown(part))
            {
                return Err(refuse(&format!(
                    "`{word}` is not a level: write one of {LEVELS}, or MODULE=LEVEL"
                )));
            }
            return EnvFilter::try_new(&text).map_err(|error| refuse(&error));
        }
    }
    Ok(EnvFilter::new(DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(set: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, text)| (*text).to_owned())
        };
        filter(variable).map(|filter| filter.to_string())
    }

    #[test]
    fn the_own_variable_comes_before_the_common_one() {
        assert_eq!(
            filter_of(&[]).map(|filter| filter.split(',').any(|part| part == "info")),
            Ok(true)
        );
        assert_eq!(filter_of(&[("RUST_LOG", "debug")]), Ok("debug".to_owned()));
        assert_eq!(
            filter_of(&[("CATALOGQL_LOG", "warn"), ("RUST_LOG", "debug")]),
            Ok("warn".to_owned())
        );
        assert_eq!(
            filter_of(&[("CATALOGQL_LOG", ""), ("RUST_LOG", "debug")]),
            Ok("debug".to_owned())
        );
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_quoted() {
        let error = filter_of(&[("RUST_LOG", "catalogql=loud")]).unwrap_err();
        assert!(
            error.starts_with("RUST_LOG is `catalogql=loud`: "),
            "{error}"
        );
        let expected = "CATALOGQL_LOG is `info,loud`: `loud` is not a level: write one of error, warn, info, debug, trace and off, or \
             MODULE=LEVEL";
        assert_eq!(
            filter_of(&[("CATALOGQL_LOG", "info,loud")]),
            Err(expected.to_owned())
        );
        assert_eq!(
            filter_of(&[("CATALOGQL_LOG", "warn,loading=debug")]),
            Ok("loading=debug,warn".to_owned())
        );
    }
}
