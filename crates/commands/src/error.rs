//! The end of a command: its exit status and, if it failed, a message and a hint.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Exit status of a command. Every program that has these commands uses the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The command did its work.
    Success = 0,
    /// Negative answer: no path, nothing would be installed, contents differ, `get` finds no object
    /// of a name.
    Negative = 1,
    /// Wrong command line, or a file or source that cannot be read or written.
    Usage = 2,
    /// The server was not found, cannot be reached, or denies access.
    NoServer = 3,
    /// A named object does not exist, or several objects have its name.
    NotFound = 4,
    /// No catalog has the content that the command line pins.
    Changed = 5,
    /// The request was refused.
    Refused = 6,
}

/// Words of Go libraries in messages of the API, which equal those of upstream, each with words of
/// this program.
const FOREIGN_WORDS: [(&str, &str); 1] = [("improper constraint: ", "not a range of versions: ")];

/// Failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// Exit status of the program.
    pub status: ExitStatus,
    /// Message on one line.
    pub message: String,
    /// Advice for the user.
    pub hint: Option<String>,
    /// `true` if the route to the server failed, so that another route may succeed.
    pub is_route: bool,
}

impl ExitStatus {
    /// Returns [`Self::Negative`] if a condition holds, and [`Self::Success`] otherwise.
    pub fn negative_if(is_negative: bool) -> Self {
        if is_negative {
            Self::Negative
        } else {
            Self::Success
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

impl CommandError {
    /// Makes an error without a hint.
    pub fn new(status: ExitStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            hint: None,
            is_route: false,
        }
    }

    /// Makes an error of a message of the API.
    pub fn from_api(status: ExitStatus, message: &str) -> Self {
        let words = FOREIGN_WORDS
            .iter()
            .find(|(foreign, _)| message.contains(foreign));
        let Some((foreign, own)) = words else {
            return Self::new(status, message);
        };
        Self::new(status, message.replace(foreign, own))
            .hint("write a range of versions as `>=1.2.0 <2.0.0`")
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    #[must_use]
    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Replaces the exit status.
    #[must_use]
    pub fn status(mut self, status: ExitStatus) -> Self {
        self.status = status;
        self
    }

    /// Prints the message and the hint to the standard error output; returns the exit status.
    pub fn report(&self) -> ExitStatus {
        let mut err = printing::stderr();
        // Nothing is left to do if the message cannot be printed.
        let _ = writeln!(err, "{} {}", printing::error(), self.message);
        if let Some(hint) = &self.hint {
            let _ = writeln!(err, "hint: {hint}");
        }
        self.status
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for CommandError {}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::new(ExitStatus::Usage, format!("cannot print: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_api_is_shown_without_words_of_libraries() {
        let error = CommandError::from_api(
            ExitStatus::Usage,
            "`versionRange` is malformed: improper constraint: \"banana\"",
        );
        let expected = "`versionRange` is malformed: not a range of versions: \"banana\"";
        let hint = "write a range of versions as `>=1.2.0 <2.0.0`";
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            (expected, Some(hint))
        );
        let other = CommandError::from_api(ExitStatus::Refused, "too expensive");
        assert_eq!(
            (other.message.as_str(), other.hint),
            ("too expensive", None)
        );
    }
}
