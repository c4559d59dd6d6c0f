//! Parses the syntax of `kubectl -l`: comma-separated requirements of words and operators.

use std::collections::BTreeSet;

use super::{LabelRequirement, SelectorError, SelectorOperator, key_error};

/// Operators and punctuation; the longest match wins.
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectorToken<'a> {
    End,
    Sign(&'a str),
    Word(&'a str),
}

struct SelectorParser<'a> {
    tokens: Vec<SelectorToken<'a>>,
    at: usize,
}

pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, SelectorError> {
    let mut parser = SelectorParser {
        tokens: tokens(text),
        at: 0,
    };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            SelectorToken::Word(_) | SelectorToken::Sign("!") => {
                requirements.push(parser.requirement().map_err(SelectorError::Requirement)?);
            }
            SelectorToken::End => return Ok(requirements),
            token @ SelectorToken::Sign(_) => {
                return Err(SelectorError::Syntax(unexpected(
                    token,
                    ", expected: !, identifier, or 'end of string'",
                )));
            }
        }
        match parser.next() {
            SelectorToken::End => return Ok(requirements),
            SelectorToken::Sign(",") => {
                let next = parser.peek();
                if !matches!(next, SelectorToken::Word(_) | SelectorToken::Sign("!")) {
                    return Err(SelectorError::Syntax(unexpected(
                        next,
                        ", expected: identifier after ','",
                    )));
                }
            }
            token => {
                return Err(SelectorError::Syntax(unexpected(
                    token,
                    ", expected: ',' or 'end of string'",
                )));
            }
        }
    }
}

impl<'a> SelectorParser<'a> {
    fn peek(&self) -> SelectorToken<'a> {
        self.tokens
            .get(self.at)
            .copied()
            .unwrap_or(SelectorToken::End)
    }

    fn next(&mut self) -> SelectorToken<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let mut token = self.next();
        let is_negated = token == SelectorToken::Sign("!");
        if is_negated {
            token = self.next();
        }
        let SelectorToken::Word(key) = token else {
            return Err(unexpected(token, ", expected: identifier"));
        };
        if let Some(error) = key_error(key, "<nil>") {
            return Err(error);
        }
        if is_negated {
            return LabelRequirement::new(key, SelectorOperator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), SelectorToken::End | SelectorToken::Sign(",")) {
            return LabelRequirement::new(key, SelectorOperator::Exists, Vec::new());
        }
        let (operator, values) = match self.next() {
            SelectorToken::Word("in") => (SelectorOperator::In, self.values()?),
            SelectorToken::Word("notin") => (SelectorOperator::NotIn, self.values()?),
            SelectorToken::Sign("=" | "==") => (SelectorOperator::In, self.value()?),
            SelectorToken::Sign("!=") => (SelectorOperator::NotIn, self.value()?),
            SelectorToken::Sign(">") => (SelectorOperator::GreaterThan, self.value()?),
            SelectorToken::Sign("<") => (SelectorOperator::LessThan, self.value()?),
            token => {
                return Err(unexpected(
                    token,
                    ", expected: in, notin, =, ==, !=, gt, lt",
                ));
            }
        };
        LabelRequirement::new(key, operator, values)
    }

    /// Parses one value; a missing value is an empty one.
    fn value(&mut self) -> Result<Vec<String>, String> {
        if matches!(self.peek(), SelectorToken::End | SelectorToken::Sign(",")) {
            return Ok(vec![String::new()]);
        }
        match self.next() {
            SelectorToken::Word(value) => Ok(vec![value.to_owned()]),
            token @ (SelectorToken::Sign(_) | SelectorToken::End) => {
                Err(unexpected(token, ", expected: identifier"))
            }
        }
    }

    /// Parses values in parentheses, sorted and without duplicates; a missing value is an empty
    /// one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let token = self.next();
        if token != SelectorToken::Sign("(") {
            return Err(unexpected(token, " expected: '('"));
        }
        let token = self.peek();
        if !matches!(
            token,
            SelectorToken::Word(_) | SelectorToken::Sign("," | ")")
        ) {
            return Err(unexpected(token, ", expected: ',', ')' or identifier"));
        }
        let mut values = BTreeSet::new();
        if token == SelectorToken::Sign(")") {
            self.next();
            return Ok(vec![String::new()]);
        }
        loop {
            match self.next() {
                SelectorToken::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        SelectorToken::Sign(",") => {}
                        SelectorToken::Sign(")") => break,
                        token => return Err(unexpected(token, ", expected: ',' or ')'")),
                    }
                }
                SelectorToken::Sign(",") => {
                    let next = self.peek();
                    if values.is_empty() || matches!(next, SelectorToken::Sign("," | ")")) {
                        values.insert(String::new());
                    }
                    if next == SelectorToken::Sign(")") {
                        break;
                    }
                    // As upstream, the second of two commas only begins a value if a value or a
                    // third comma follows.
                    if next == SelectorToken::Sign(",") {
                        self.next();
                    }
                }
                token => return Err(unexpected(token, ", expected: ',', or identifier")),
            }
        }
        self.next();
        Ok(values.into_iter().collect())
    }
}

/// Splits a text into words and signs.
fn tokens(text: &str) -> Vec<SelectorToken<'_>> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let is_sign = |c: char| "=!(),<>".contains(c);
    let mut tokens = Vec::new();
    // Upstream's reader ends at a NUL.
    let mut rest = text
        .split('\0')
        .next()
        .unwrap_or_default()
        .trim_start_matches(is_space);
    while !rest.is_empty() {
        let token = match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => SelectorToken::Sign(sign),
            None => SelectorToken::Word(
                &rest[..rest
                    .find(|c| is_space(c) || is_sign(c))
                    .unwrap_or(rest.len())],
            ),
        };
        let (SelectorToken::Sign(literal) | SelectorToken::Word(literal)) = token else {
            break;
        };
        tokens.push(token);
        rest = rest[literal.len()..].trim_start_matches(is_space);
    }
    tokens
}

fn unexpected(token: SelectorToken<'_>, expected: &str) -> String {
    let literal = match token {
        SelectorToken::End => "",
        SelectorToken::Sign(literal) | SelectorToken::Word(literal) => literal,
    };
    format!("found '{literal}'{expected}")
}
