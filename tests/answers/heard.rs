//! What the service says to its log while a test runs, statements to the database included.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

thread_local! {
    static SAID: RefCell<Option<Vec<Line>>> = const { RefCell::new(None) };
}

/// Everything said on this thread while it lives, at every level. A test's runtime has the one thread of the test.
pub(crate) struct Heard(());

/// One line of the log.
#[derive(Default)]
struct Line {
    target: String,
    text: String,
    statement: Option<String>,
    /// Whether the service would log it, whatever its operator asks for.
    loggable: bool,
}

impl Heard {
    /// Listens from now on.
    pub(crate) fn start() -> Self {
        // One subscriber for the process: those of single threads come and go, and what is enabled with them.
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing::subscriber::set_global_default(Registry::default().with(Listening)).unwrap());
        SAID.set(Some(Vec::new()));
        Self(())
    }

    /// Every line so far.
    pub(crate) fn text() -> String {
        SAID.with_borrow(|said| {
            let lines = said.as_deref().unwrap_or_default().iter().map(|line| format!("{} {}", line.target, line.text));
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    /// Every line that could be logged, at the most talkative level, and every span with its fields.
    pub(crate) fn logged() -> String {
        SAID.with_borrow(|said| {
            let lines = said.as_deref().unwrap_or_default().iter().filter(|line| line.loggable);
            lines.map(|line| format!("{} {}", line.target, line.text)).collect::<Vec<_>>().join("\n")
        })
    }

    /// The statements sent to the database since the last call, in order. What the pool sends when a connection comes
    /// back (ROLLBACK) is left out, since it does so in its own time.
    pub(crate) fn statements() -> Vec<String> {
        let said = SAID.with_borrow_mut(|said| said.replace(Vec::new()).unwrap_or_default());
        let statement = |line: Line| line.statement.filter(|text| !text.is_empty()).unwrap_or(line.text);
        let said = said.into_iter().filter(|line| line.target == "sqlx::query").map(statement);
        said.filter(|statement| !statement.starts_with("summary=ROLLBACK")).collect()
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        SAID.set(None);
    }
}

struct Listening;

impl<S: tracing::Subscriber> Layer<S> for Listening {
    fn register_callsite(&self, _metadata: &'static tracing::Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _metadata: &tracing::Metadata<'_>, _context: Context<'_, S>) -> bool {
        SAID.try_with(|said| said.try_borrow().is_ok_and(|said| said.is_some())).unwrap_or(false)
    }

    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _id: &tracing::Id, _context: Context<'_, S>) {
        let mut line = Line::of(attributes.metadata());
        attributes.record(&mut line);
        SAID.with_borrow_mut(|said| said.as_mut().map(|said| said.push(line)));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _context: Context<'_, S>) {
        let mut line = Line::of(event.metadata());
        event.record(&mut line);
        SAID.with_borrow_mut(|said| said.as_mut().map(|said| said.push(line)));
    }
}

impl Line {
    fn of(metadata: &tracing::Metadata<'_>) -> Self {
        let loggable = sync_server::log::shows_no_content(metadata);
        Self { target: metadata.target().to_owned(), loggable, ..Self::default() }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" {
            self.statement = Some(value.to_owned());
        }
        let _ = write!(self.text, "{}={value} ", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // How long a statement took is none of its identity.
        if !field.name().starts_with("elapsed") {
            let _ = write!(self.text, "{}={value:?} ", field.name());
        }
    }

    fn record_f64(&mut self, _field: &Field, _value: f64) {}
}
