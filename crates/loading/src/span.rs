//! OpenTelemetry spans of loads and of their stages. They are no-ops without a collector.

use metrics::Label as _;
use opentelemetry::trace::{FutureExt as _, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, global};
use serving::{CatalogName, Content};

use crate::metrics::{LoadResult, SourceKind, Stage};
use crate::pipeline::LoadedContent;
use crate::{LoadError, Source};

/// Name of the tracer that spans come from.
const TRACER: &str = "catalogql";

/// The span of an attempt to load a source, the parent of the spans of its stages.
pub(crate) struct LoadSpan(Context);

impl LoadSpan {
    /// Begins the span of a load for a catalog.
    pub(crate) fn begin(catalog: &CatalogName, source: &Source) -> Self {
        let attributes = [
            KeyValue::new("catalogql.catalog", catalog.as_str().to_owned()),
            KeyValue::new(
                "catalogql.source_kind",
                SourceKind::from_source(source).as_str(),
            ),
        ];
        let tracer = global::tracer(TRACER);
        Self(Context::current_with_span(
            tracer
                .span_builder("load")
                .with_attributes(attributes)
                .start(&tracer),
        ))
    }

    /// Runs the load in the context of its span.
    pub(crate) fn run<F: Future>(&self, load: F) -> impl Future<Output = F::Output> + use<F> {
        load.with_context(self.0.clone())
    }

    /// Ends the span with the result of the load. `before` is the content that was served.
    pub(crate) fn end(self, before: Option<&Content>, loaded: &Result<LoadedContent, LoadError>) {
        let result = match loaded {
            Ok(loaded) if before.is_some_and(|before| before.digest == loaded.content.digest) => {
                LoadResult::Unchanged
            }
            Ok(_) => LoadResult::Loaded,
            Err(_) => LoadResult::Failed,
        };
        let span = self.0.span();
        span.set_attribute(KeyValue::new("catalogql.result", result.as_str()));
        if let Err(error) = loaded {
            // The reason alone: the text of an error names references and files.
            span.set_status(Status::error(format!("{:?}", error.reason())));
        }
        span.end();
    }
}

/// Begins the span of a stage, as a child of the current load's. The span ends when the returned
/// context is dropped.
pub(crate) fn begin_stage(stage: Stage) -> Context {
    let load = Context::current();
    if !load.span().span_context().is_valid() {
        return load;
    }
    let tracer = global::tracer(TRACER);
    load.with_span(tracer.start_with_context(stage.as_str(), &load))
}
