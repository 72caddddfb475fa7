//! What is assigned to members after a value was made: to objects that are options, parameters or bodies, to clients,
//! and to the globals and libraries that make plain requests.

use std::collections::HashMap;
use std::rc::Rc;

use super::collections::put;
use super::eval::Evaluator;
use super::keys::Keys;
use super::value::{FileId, Http, Value};
use crate::parse::{BindingId, ClassId, Expr, ExprId, FunctionId, MemberKind, Name, Origin, ParsedFile, Write};

/// Members of members, followed this far.
const DEEPEST: usize = 8;

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Members of members to what is assigned; one of them without a name hides all that is below.
    Member(Vec<Option<Name>>, Write),
    /// `Object.assign(object, …)`
    Spread(ExprId),
}

/// The changes that a file makes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Of names of the file.
    pub(super) bindings: HashMap<BindingId, Vec<Change>>,
    /// Of object literals that a name of the file stands for.
    pub(super) objects: HashMap<ExprId, Vec<Change>>,
    /// What is assigned to a member of a name last, and of functions of the file.
    pub(super) members_of_names: HashMap<BindingId, HashMap<String, ExprId>>,
    pub(super) members_of_functions: HashMap<FunctionId, HashMap<String, ExprId>>,
    /// What is assigned to members of parameters.
    pub(super) members_of_parameters: HashMap<FunctionId, Vec<(u32, Name, ExprId)>>,
    /// What is assigned to members of classes of the file, in its order.
    pub(super) classes: HashMap<ClassId, Vec<(Name, ExprId)>>,
    /// Of globals: `fetch = …`, `globalThis.fetch = …`.
    pub(super) globals: Vec<(Name, ExprId)>,
    /// Objects and members that something is assigned to, and what, where the object may be a client.
    pub(super) members: Vec<(ExprId, Option<Name>, ExprId)>,
    /// `Object.assign(…)` of what may be a client.
    pub(super) assigned: Vec<(ExprId, ExprId)>,
    /// What is put into what a name or a field of a class is made as (`map.set(key, value)`).
    pub(super) added: HashMap<ExprId, Vec<ExprId>>,
    /// Keys that are set on names by methods (`url.searchParams.set("limit", …)`, `form.append("file", …)`).
    pub(super) set: HashMap<BindingId, Vec<Option<Name>>>,
}

impl Changes {
    pub(super) fn of(parsed: &ParsedFile) -> Self {
        let mut changes = Self::default();
        for (target, write) in &parsed.written {
            let (object, name) = match *parsed.expr(*target) {
                Expr::Global(name) => {
                    changes.globals.push((name, write.value));
                    continue;
                }
                Expr::Member(object, name) => (object, Some(name)),
                Expr::Index(object) => (object, None),
                _ => continue,
            };
            if let (Expr::Global(global), Some(name)) = (parsed.expr(bare(parsed, object)), name)
                && is_global_object(parsed.name(*global))
            {
                changes.globals.push((name, write.value));
                continue;
            }
            changes.members.push((object, name, write.value));
            let mut path = vec![name];
            if let Some(binding) = root(parsed, object, &mut path) {
                changes.add(parsed, binding, &Change::Member(path, *write));
            }
        }
        for call in &parsed.calls {
            let Expr::Call { callee, arguments, construct: false, .. } = parsed.expr(call.expr) else { continue };
            if let Some(binding) = setter(parsed, *callee)
                && arguments.len() > 1
            {
                let key = match parsed.expr(arguments[0].value) {
                    Expr::Text(name, _) => Some(*name),
                    _ => None,
                };
                changes.set.entry(binding).or_default().push(key);
            }
            if let Expr::Member(whole, method) = *parsed.expr(*callee)
                && let Some(value) = put(parsed.name(method), arguments)
                && let Some(made) = made_as(parsed, whole)
            {
                changes.added.entry(made).or_default().push(value);
            }
            if !is_object_assign(parsed, *callee) {
                continue;
            }
            let Some((target, sources)) = arguments.split_first() else { continue };
            for source in sources {
                changes.assigned.push((target.value, source.value));
                if let Expr::Binding(binding) = *parsed.expr(bare(parsed, target.value)) {
                    changes.add(parsed, binding, &Change::Spread(source.value));
                }
            }
        }
        changes
    }

    fn add(&mut self, parsed: &ParsedFile, binding: BindingId, change: &Change) {
        self.bindings.entry(binding).or_default().push(change.clone());
        if let Change::Member(path, write) = change
            && let [Some(name)] = path.as_slice()
        {
            let members = self.members_of_names.entry(binding).or_default();
            members.insert(parsed.name(*name).to_owned(), write.value);
        }
        let Some(it) = parsed.bindings.get(binding as usize) else { return };
        let initial = match &it.origin {
            Origin::Value(value, steps) if steps.is_empty() => Some(*value),
            Origin::Function(function) => {
                self.add_to_function(parsed, *function, change);
                None
            }
            Origin::Class(class) => {
                if let Change::Member(path, write) = change
                    && let [Some(name)] = path.as_slice()
                {
                    self.classes.entry(*class).or_default().push((*name, write.value));
                }
                None
            }
            Origin::Parameter(function, at, steps) if steps.is_empty() => {
                if let Change::Member(path, write) = change
                    && let [Some(name)] = path.as_slice()
                {
                    self.members_of_parameters.entry(*function).or_default().push((*at, *name, write.value));
                }
                None
            }
            _ => None,
        };
        for value in initial.into_iter().chain(it.writes.iter().map(|write| write.value)) {
            let value = bare(parsed, value);
            if let Expr::Function(function) = *parsed.expr(value) {
                self.add_to_function(parsed, function, change);
            }
            if matches!(parsed.expr(value), Expr::Object(_)) {
                self.objects.entry(value).or_default().push(change.clone());
            }
        }
    }
}

impl Changes {
    fn add_to_function(&mut self, parsed: &ParsedFile, function: FunctionId, change: &Change) {
        if let Change::Member(path, write) = change
            && let [Some(name)] = path.as_slice()
        {
            let members = self.members_of_functions.entry(function).or_default();
            members.insert(parsed.name(*name).to_owned(), write.value);
        }
    }
}

/// An expression without the types that it is said to have.
pub(super) fn bare(parsed: &ParsedFile, expr: ExprId) -> ExprId {
    let mut at = expr;
    for _ in 0..DEEPEST {
        match parsed.expr(at) {
            Expr::Cast(value, _) => at = *value,
            _ => break,
        }
    }
    at
}

/// The name that a chain of members starts from; `path` grows at its front.
fn root(parsed: &ParsedFile, object: ExprId, path: &mut Vec<Option<Name>>) -> Option<BindingId> {
    let mut at = object;
    for _ in 0..DEEPEST {
        match *parsed.expr(at) {
            Expr::Binding(binding) => return Some(binding),
            Expr::Cast(value, _) => at = value,
            Expr::Member(object, name) => {
                path.insert(0, Some(name));
                at = object;
            }
            Expr::Index(object) => {
                path.insert(0, None);
                at = object;
            }
            _ => return None,
        }
    }
    None
}

/// What a name of a file, or a field of one of its classes, is made as.
fn made_as(parsed: &ParsedFile, whole: ExprId) -> Option<ExprId> {
    let made = match *parsed.expr(bare(parsed, whole)) {
        Expr::Binding(binding) => match parsed.bindings.get(binding as usize)?.origin {
            Origin::Value(value, ref steps) if steps.is_empty() => value,
            _ => return None,
        },
        Expr::Member(object, name) => {
            let (Expr::This(Some(class)) | Expr::Class(class)) = *parsed.expr(object) else { return None };
            let members = &parsed.classes.get(class as usize)?.members;
            members.iter().find(|member| member.name == name).and_then(|member| match member.kind {
                MemberKind::Field(_, value) => value,
                MemberKind::Method(_) | MemberKind::Getter(_) => None,
            })?
        }
        _ => return None,
    };
    Some(bare(parsed, made))
}

/// The name on which a callee sets a key.
fn setter(parsed: &ParsedFile, callee: ExprId) -> Option<BindingId> {
    let Expr::Member(object, method) = *parsed.expr(callee) else { return None };
    if !matches!(parsed.name(method), "set" | "append") {
        return None;
    }
    match *parsed.expr(object) {
        Expr::Binding(binding) => Some(binding),
        Expr::Member(url, name) if parsed.name(name) == "searchParams" => match *parsed.expr(url) {
            Expr::Binding(binding) => Some(binding),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a callee is `Object.assign`.
pub(super) fn is_object_assign(parsed: &ParsedFile, callee: ExprId) -> bool {
    matches!(parsed.expr(callee), Expr::Member(object, name) if parsed.name(*name) == "assign"
        && matches!(parsed.expr(*object), Expr::Global(global) if parsed.name(*global) == "Object"))
}

/// Whether a name is one of the names of the object that holds all globals.
pub(super) fn is_global_object(name: &str) -> bool {
    matches!(name, "globalThis" | "window" | "self" | "global")
}

impl Evaluator<'_, '_> {
    /// The changes that a file makes to an object literal of its own.
    pub(super) fn changes_of_object(&mut self, file: FileId, object: ExprId) -> Vec<Change> {
        self.changes_in(file).objects.get(&object).cloned().unwrap_or_default()
    }

    /// A member that the file of a function assigns to it; the last one counts.
    pub(super) fn member_of_function(&mut self, file: FileId, function: FunctionId, name: &str) -> Value {
        let changes = self.changes_in(file);
        match changes.members_of_functions.get(&function).and_then(|members| members.get(name)) {
            Some(value) => self.expr(file, *value),
            None => Value::Unknown,
        }
    }

    /// What a file assigns to a member of a name of its own, the last time.
    pub(super) fn member_of_name(&mut self, file: FileId, binding: BindingId, name: &str) -> Option<ExprId> {
        self.changes_in(file).members_of_names.get(&binding)?.get(name).copied()
    }

    /// What the file of a class assigns to a member of it; the last one counts.
    pub(super) fn member_of_class(&mut self, file: FileId, class: ClassId, name: &str) -> Value {
        let changes = self.changes_in(file);
        let parsed = self.world.file(file).parsed;
        let assigned = changes.classes.get(&class).into_iter().flatten();
        match assigned.rev().find(|(key, _)| parsed.name(*key) == name) {
            Some((_, value)) => self.expr(file, *value),
            None => Value::Unknown,
        }
    }

    /// What a file assigns to a global of its own making.
    pub(super) fn assigned_global(&mut self, file: FileId, name: Name) -> Value {
        let changes = self.all_changes_in(file, |changes| changes.globals.is_empty());
        let mut all = Value::Unknown;
        if self.world.file(file).parsed.name(name) == "fetch" {
            return all;
        }
        for (_, value) in changes.globals.iter().filter(|(global, _)| *global == name) {
            let value = self.expr(file, *value);
            all = all.or(value);
        }
        all
    }

    /// What the file of a class assigns to a member of its instances from outside of them.
    pub(super) fn member_of_instances(&mut self, file: FileId, class: ClassId, name: &str) -> Value {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty());
        let parsed = self.world.file(file).parsed;
        let mut all = Value::Unknown;
        for (object, member, value) in &changes.members {
            if member.is_none_or(|member| parsed.name(member) != name) {
                continue;
            }
            let target = self.expr(file, *object);
            if matches!(target, Value::Instance(there, it) if (there, it) == (file, class)) {
                let value = self.expr(file, *value);
                all = all.or(value);
            }
        }
        all
    }

    /// What a file assigns to a member of something that is not known, by the name that this has.
    pub(super) fn member_assigned(&mut self, file: FileId, member: ExprId) -> Value {
        let parsed = self.world.file(file).parsed;
        let mut path = Vec::new();
        let Some(binding) = root(parsed, member, &mut path) else { return Value::Unknown };
        let changes = self.changes_in(file);
        let mut all = Value::Unknown;
        for change in changes.bindings.get(&binding).into_iter().flatten() {
            if let Change::Member(known, write) = change
                && *known == path
                && path.iter().all(Option::is_some)
            {
                let value = self.expr(file, write.value);
                all = all.or(value);
            }
        }
        all
    }

    /// What a file puts into a collection that it makes.
    pub(super) fn added_to(&mut self, file: FileId, made: ExprId) -> Vec<ExprId> {
        self.changes_in(file).added.get(&made).cloned().unwrap_or_default()
    }

    /// The changes that a file makes to members of a name of its own.
    pub(super) fn changes_of_binding(&mut self, file: FileId, binding: BindingId) -> Vec<Change> {
        self.changes_in(file).bindings.get(&binding).cloned().unwrap_or_default()
    }

    /// The keys that methods set on a name.
    pub(super) fn keys_set(&mut self, file: FileId, binding: BindingId) -> Keys {
        let changes = self.changes_in(file);
        let parsed = self.world.file(file).parsed;
        let mut keys = Keys::default();
        for key in changes.set.get(&binding).map_or(&[][..], Vec::as_slice) {
            match key {
                Some(name) => {
                    keys.names.insert(parsed.name(*name).to_owned());
                }
                None => keys.hidden = true,
            }
        }
        keys
    }

    /// What a file assigns to `defaults.<key>` of a client that makes plain requests.
    pub(super) fn default_of(&mut self, file: FileId, http: &Http, key: &str) -> Option<(FileId, ExprId)> {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty());
        let parsed = self.world.file(file).parsed;
        let mut found = None;
        for (object, name, value) in &changes.members {
            let Expr::Member(client, defaults) = *parsed.expr(*object) else { continue };
            if name.is_none_or(|name| parsed.name(name) != key) || parsed.name(defaults) != "defaults" {
                continue;
            }
            let client = self.expr(file, client);
            if self
                .as_http(&client)
                .is_some_and(|client| client.library == http.library && client.made_with == http.made_with)
            {
                found = Some((file, *value));
            }
        }
        found
    }

    /// The changes that a file makes, of which a list is gone through. That there is none in it others see as well.
    pub(super) fn all_changes_in(&mut self, file: FileId, is_none: impl Fn(&Changes) -> bool) -> Rc<Changes> {
        let changes = self.changes_in(file);
        if !is_none(&changes) {
            self.world.whole_file(file);
        }
        changes
    }

    /// The changes that a file makes, to look up what is kept by an id.
    pub(super) fn changes_in(&mut self, file: FileId) -> Rc<Changes> {
        let parsed = self.world.file(file).parsed;
        Rc::clone(self.changes.entry(file).or_insert_with(|| Rc::new(Changes::of(parsed))))
    }
}
