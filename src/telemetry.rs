//! Log set-up: one place says how much is logged and in which form.

use std::io::IsTerminal;

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, fmt};

/// The variables that say what is logged, first come first served, in the syntax of `tracing_subscriber::EnvFilter`.
const VARIABLES: [&str; 2] = ["CATALOGQL_LOG", "RUST_LOG"];

/// The default filter. The Kubernetes client logs each failed request, which those who made it log too.
const DEFAULT: &str = "info,kube_client::client::builder=off";

/// Logs to this writer: text when the standard error output is a terminal, one JSON object a line otherwise.
///
/// # Errors
/// When a variable does not say what it should. The text names it.
pub fn init<W>(writer: W) -> Result<(), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let log = fmt().with_env_filter(filter(|name| std::env::var(name).ok())?).with_writer(writer).with_target(false);
    if std::io::stderr().is_terminal() {
        log.compact().without_time().init();
    } else {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    }
    Ok(())
}

fn filter(variable: impl Fn(&str) -> Option<String>) -> Result<EnvFilter, String> {
    for name in VARIABLES {
        if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
            return EnvFilter::try_new(&text).map_err(|error| format!("{name} is `{text}`: {error}"));
        }
    }
    Ok(EnvFilter::new(DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(set: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned());
        filter(variable).map(|filter| filter.to_string())
    }

    #[test]
    fn the_own_variable_comes_before_the_common_one() {
        assert_eq!(filter_of(&[]).map(|filter| filter.split(',').any(|part| part == "info")), Ok(true));
        assert_eq!(filter_of(&[("RUST_LOG", "debug")]), Ok("debug".to_owned()));
        assert_eq!(filter_of(&[("CATALOGQL_LOG", "warn"), ("RUST_LOG", "debug")]), Ok("warn".to_owned()));
        assert_eq!(filter_of(&[("CATALOGQL_LOG", ""), ("RUST_LOG", "debug")]), Ok("debug".to_owned()));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_quoted() {
        let error = filter_of(&[("RUST_LOG", "catalogql=loud")]).unwrap_err();
        assert!(error.starts_with("RUST_LOG is `catalogql=loud`: "), "{error}");
    }
}
