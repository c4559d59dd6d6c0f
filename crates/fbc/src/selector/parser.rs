//! The syntax of `kubectl -l`: words and signs, requirements of them, and commas between requirements.

use std::collections::BTreeSet;

use super::{Operator, Requirement, SelectorError, key_fault};

/// The signs of the syntax; of several that fit the longest counts.
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    End,
    Sign(&'a str),
    Word(&'a str),
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Sign("!") => {
                requirements.push(parser.requirement().map_err(SelectorError::Requirement)?);
            }
            Token::End => return Ok(requirements),
            token @ Token::Sign(_) => {
                return Err(SelectorError::Syntax(found(token, ", expected: !, identifier, or 'end of string'")));
            }
        }
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Sign(",") => {
                let next = parser.peek();
                if !matches!(next, Token::Word(_) | Token::Sign("!")) {
                    return Err(SelectorError::Syntax(found(next, ", expected: identifier after ','")));
                }
            }
            token => return Err(SelectorError::Syntax(found(token, ", expected: ',' or 'end of string'"))),
        }
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let is_negated = token == Token::Sign("!");
        if is_negated {
            token = self.next();
        }
        let Token::Word(key) = token else { return Err(found(token, ", expected: identifier")) };
        if let Some(fault) = key_fault(key, "<nil>") {
            return Err(fault);
        }
        if is_negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let (operator, values) = match self.next() {
            Token::Word("in") => (Operator::In, self.values()?),
            Token::Word("notin") => (Operator::NotIn, self.values()?),
            Token::Sign("=" | "==") => (Operator::In, self.value()?),
            Token::Sign("!=") => (Operator::NotIn, self.value()?),
            Token::Sign(">") => (Operator::GreaterThan, self.value()?),
            Token::Sign("<") => (Operator::LessThan, self.value()?),
            token => return Err(found(token, ", expected: in, notin, =, ==, !=, gt, lt")),
        };
        Requirement::new(key, operator, values)
    }

    /// One value; nothing at all is an empty one.
    fn value(&mut self) -> Result<Vec<String>, String> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(vec![String::new()]);
        }
        match self.next() {
            Token::Word(value) => Ok(vec![value.to_owned()]),
            token @ (Token::Sign(_) | Token::End) => Err(found(token, ", expected: identifier")),
        }
    }

    /// Values in parentheses, sorted and each once; nothing between two signs is an empty one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let token = self.next();
        if token != Token::Sign("(") {
            return Err(found(token, " expected: '('"));
        }
        let token = self.peek();
        if !matches!(token, Token::Word(_) | Token::Sign("," | ")")) {
            return Err(found(token, ", expected: ',', ')' or identifier"));
        }
        let mut values = BTreeSet::new();
        if token == Token::Sign(")") {
            self.next();
            return Ok(vec![String::new()]);
        }
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Sign(",") => {}
                        Token::Sign(")") => break,
                        token => return Err(found(token, ", expected: ',' or ')'")),
                    }
                }
                Token::Sign(",") => {
                    let next = self.peek();
                    if values.is_empty() || matches!(next, Token::Sign("," | ")")) {
                        values.insert(String::new());
                    }
                    if next == Token::Sign(")") {
                        break;
                    }
                    // Of two commas one begins a value only where a value or a third comma follows, as upstream has it.
                    if next == Token::Sign(",") {
                        self.next();
                    }
                }
                token => return Err(found(token, ", expected: ',', or identifier")),
            }
        }
        self.next();
        Ok(values.into_iter().collect())
    }
}

/// Splits a text at white space and signs.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let is_sign = |c: char| "=!(),<>".contains(c);
    let mut tokens = Vec::new();
    // Upstream's reader ends at a NUL.
    let mut rest = text.split('\0').next().unwrap_or_default().trim_start_matches(is_space);
    while !rest.is_empty() {
        let token = match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Token::Sign(sign),
            None => Token::Word(&rest[..rest.find(|c| is_space(c) || is_sign(c)).unwrap_or(rest.len())]),
        };
        let (Token::Sign(literal) | Token::Word(literal)) = token else { break };
        tokens.push(token);
        rest = rest[literal.len()..].trim_start_matches(is_space);
    }
    tokens
}

fn found(token: Token<'_>, expected: &str) -> String {
    let literal = match token {
        Token::End => "",
        Token::Sign(literal) | Token::Word(literal) => literal,
    };
    format!("found '{literal}'{expected}")
}
