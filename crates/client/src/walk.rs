//! Pages of one content: a list that is longer than a page is never mixed from two contents.

use std::collections::BTreeMap;

use futures_util::stream::{Stream, try_unfold};
use serde_json::Value;

use crate::{Client, ClientError, Result};

/// Items of a page, which is the server's limit.
pub const MAX_PAGE_SIZE: usize = 500;

/// A list of the server, page by page.
///
/// Its document takes `$first` and `$after`, and has the fields `served: catalogs { name digest }`
/// and `pageInfo { hasNextPage endCursor }`. Nothing is sent before the list is read.
#[derive(Clone, Debug)]
pub struct PageWalk<T> {
    client: Client,
    document: &'static str,
    variables: Value,
    /// JSON pointer of the connection.
    connection: &'static str,
    decode: fn(Value) -> serde_json::Result<Vec<T>>,
    limit: usize,
}

/// The catalogs of a page with their digests.
type Served = BTreeMap<String, String>;

/// Progress of a walk.
#[derive(Clone, Debug, Default)]
struct Position {
    after: Option<String>,
    served: Option<Served>,
    count: usize,
    is_done: bool,
}

impl Client {
    /// Begins to walk over a list, whose connection is at this JSON pointer, such as `/packages`.
    /// Variables that are `null` are not sent. The items are the `nodes` as they come.
    pub fn walk(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
    ) -> PageWalk<Value> {
        let decode = |mut connection: Value| {
            Ok(std::mem::take(
                connection["nodes"].as_array_mut().unwrap_or(&mut vec![]),
            ))
        };
        PageWalk::new(self, document, variables, connection, decode)
    }
}

impl<T> PageWalk<T> {
    /// `decode` makes items of the data of a page.
    pub(crate) fn new(
        client: &Client,
        document: &'static str,
        variables: Value,
        connection: &'static str,
        decode: fn(Value) -> serde_json::Result<Vec<T>>,
    ) -> Self {
        Self {
            client: client.clone(),
            document,
            variables,
            connection,
            decode,
            limit: usize::MAX,
        }
    }

    /// Ends after this number of items.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Reads the whole list. If the content changes meanwhile, it is read once again from its
    /// beginning.
    pub async fn all(&self) -> Result<Vec<T>> {
        match self.read().await {
            Err(ClientError::Changed) => self.read().await,
            read => read,
        }
    }

    /// Reads the list page by page. If the content changes meanwhile, the stream ends with
    /// [`ClientError::Changed`].
    pub fn pages(&self) -> impl Stream<Item = Result<Vec<T>>> + '_ {
        try_unfold(Position::default(), move |position| async move {
            if position.is_done {
                Ok(None)
            } else {
                self.page(position).await.map(Some)
            }
        })
    }

    async fn read(&self) -> Result<Vec<T>> {
        let mut position = Position::default();
        let mut items = Vec::new();
        while !position.is_done {
            let (page, next) = self.page(position).await?;
            items.extend(page);
            position = next;
        }
        Ok(items)
    }

    async fn page(&self, position: Position) -> Result<(Vec<T>, Position)> {
        let mut variables = self.variables.clone();
        let wanted = (self.limit - position.count).min(MAX_PAGE_SIZE);
        variables["first"] = wanted.into();
        variables["after"] = position.after.into();
        let mut data = self.client.execute(self.document, &variables).await?.data;
        let served = served(&data, &variables["catalogs"]);
        if position
            .served
            .as_ref()
            .is_some_and(|before| *before != served)
        {
            return Err(ClientError::Changed);
        }
        let connection = data
            .pointer_mut(self.connection)
            .map(Value::take)
            .unwrap_or_default();
        let (has_next, after) = {
            let info = &connection["pageInfo"];
            (
                info["hasNextPage"] == true,
                info["endCursor"].as_str().map(str::to_owned),
            )
        };
        let items = (self.decode)(connection).map_err(|source| self.client.undecodable(source))?;
        let count = position.count + items.len();
        let is_done = !has_next || after.is_none() || count >= self.limit;
        Ok((
            items,
            Position {
                after,
                served: Some(served),
                count,
                is_done,
            },
        ))
    }
}

/// The digests of the catalogs that a page is of: those that the variables name, or all.
fn served(data: &Value, names: &Value) -> Served {
    let names = names.as_array().filter(|names| !names.is_empty());
    let catalogs = data["served"].as_array().into_iter().flatten();
    let catalogs =
        catalogs.filter(|catalog| names.is_none_or(|names| names.contains(&catalog["name"])));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    catalogs
        .map(|catalog| (text(&catalog["name"]), text(&catalog["digest"])))
        .collect()
}
