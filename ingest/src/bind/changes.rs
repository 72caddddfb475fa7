//! What is assigned to members after a value was made: to objects that are options, parameters or bodies, to clients,
//! and to the globals and libraries that make plain requests.

use std::collections::HashMap;
use std::rc::Rc;

use super::collections::put;
use super::eval::Evaluator;
use super::keys::Keys;
use super::text::url;
use super::value::{FileId, Http, Value, Vendor};
use crate::catalog::Package;
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

/// An argument that a function changes: what it assigns to which member of that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changed {
    argument: ExprId,
    /// The file of the function.
    by: FileId,
    name: Name,
    value: ExprId,
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

    /// Whether a member of a client that a chain goes through is replaced, in the file of a call or in the one that
    /// makes the client.
    pub(super) fn is_replaced(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let made = vendor.client.and_then(|client| self.clients.made_in(client)).filter(|made| *made != file);
        [Some(file), made].into_iter().flatten().any(|there| self.replaces(there, vendor))
    }

    /// Whether something is assigned to the member of a client that says where its requests go, in the file of a call or
    /// in the one that makes the client, unless that is provably the vendor's.
    pub(super) fn is_moved(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let made = vendor.client.and_then(|client| self.clients.made_in(client)).filter(|made| *made != file);
        [Some(file), made].into_iter().flatten().any(|there| self.moves(there, vendor))
    }

    fn moves(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty() && changes.assigned.is_empty());
        let package = self.catalog.package_of(self.catalog.shape(vendor.shape).package);
        let options = &package.client_options;
        let says_where = |name: &str| options.base_url.iter().any(|key| key == name);
        let requests = |name: &str| options.requests.iter().chain(&options.fetch).any(|key| key == name);
        let here = changes.members.iter().filter_map(|(object, name, value)| Some((*object, file, (*name)?, *value)));
        let there = self.changed_by_functions(file);
        let there = there.iter().map(|it| (it.argument, it.by, it.name, it.value));
        for (object, by, name, value) in here.chain(there) {
            let name = self.world.file(by).parsed.name(name);
            if (says_where(name) || requests(name)) && self.is_client(file, object, vendor) {
                let moves = if says_where(name) {
                    !self.is_address_of(package, by, value)
                } else {
                    self.may_redirect(by, value)
                };
                if moves {
                    return true;
                }
            }
        }
        // `Object.assign(client, { baseURL })`
        for (object, source) in &changes.assigned {
            for key in &package.client_options.base_url {
                if let Some((by, value)) = self.option(file, *source, key)
                    && self.is_client(file, *object, vendor)
                    && !self.is_address_of(package, by, value)
                {
                    return true;
                }
            }
        }
        false
    }

    fn is_client(&mut self, file: FileId, expr: ExprId, vendor: &Vendor) -> bool {
        let value = self.expr(file, expr);
        value.vendors().any(|value| value.chain.is_empty() && is_of(value, vendor))
    }

    /// Whether a text provably is an address of the vendor of a package.
    fn is_address_of(&mut self, package: &Package, file: FileId, value: ExprId) -> bool {
        let ours = |host: &str| self.catalog.vendor_of_host(host).map(|vendor| vendor.id.as_str());
        let own = Some(self.catalog.vendor(package.vendor).id.as_str());
        let readings = self.texts_of(file, value);
        readings.iter().all(|text| url(text).is_some_and(|url| ours(&url.host) == own))
    }

    /// The arguments of a file's calls to members of which the functions that it calls assign something.
    fn changed_by_functions(&mut self, file: FileId) -> Rc<Vec<Changed>> {
        // What is remembered is of the same file, which has noted that.
        if let Some(known) = self.changed.get(&file) {
            return Rc::clone(known);
        }
        let parsed = self.world.whole_file(file).parsed;
        let mut all = Vec::new();
        for call in &parsed.calls {
            let Expr::Call { callee, arguments, .. } = parsed.expr(call.expr) else { continue };
            if arguments.is_empty() {
                continue;
            }
            let Value::Function(by, function) = self.expr(file, *callee) else { continue };
            let changes = self.changes_in(by);
            for (at, name, value) in changes.members_of_parameters.get(&function).into_iter().flatten() {
                let before = arguments.get(..=*at as usize).unwrap_or(&[]);
                if let Some(argument) = before.last()
                    && !before.iter().any(|argument| argument.spread)
                {
                    all.push(Changed { argument: argument.value, by, name: *name, value: *value });
                }
            }
        }
        let all = Rc::new(all);
        self.changed.insert(file, Rc::clone(&all));
        all
    }

    fn replaces(&mut self, file: FileId, vendor: &Vendor) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.members.is_empty() && changes.assigned.is_empty());
        let parsed = self.world.file(file).parsed;
        let mut replaced = Vec::new();
        for (object, name, value) in &changes.members {
            // What is assigned to a response, and not to a client, replaces nothing that is called.
            let Some(name) = name.map(|name| parsed.name(name)) else { continue };
            let value = self.expr(file, *value);
            let target = self.expr(file, *object);
            for target in target.vendors().filter(|target| is_of(target, vendor)) {
                let Value::Vendor(member) = self.vendor_member(target, name) else { continue };
                // Put back to what it was, or wrapped by its own method.
                if !value.vendors().any(|value| value.chain == member.chain) {
                    replaced.push(member.chain.clone());
                }
            }
        }
        for (object, source) in &changes.assigned {
            let target = self.expr(file, *object);
            for target in target.vendors().filter(|target| is_of(target, vendor)) {
                let keys = self.keys(file, *source);
                if keys.hidden {
                    replaced.push(target.chain.clone());
                }
                for key in keys.names {
                    if let Value::Vendor(member) = self.vendor_member(target, &key) {
                        replaced.push(member.chain.clone());
                    }
                }
            }
        }
        replaced.iter().any(|chain| {
            chain.is_empty()
                || vendor
                    .chain
                    .strip_prefix(chain.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Whether a file assigns something to a global that does not make requests as that does. A function that calls
    /// what was there before only watches.
    pub(super) fn replaces_global(&mut self, file: FileId, name: &str) -> bool {
        let changes = self.all_changes_in(file, |changes| changes.globals.is_empty());
        let parsed = self.world.file(file).parsed;
        changes.globals.iter().filter(|(global, _)| parsed.name(*global) == name).any(|(_, value)| {
            match self.expr(file, *value) {
                Value::Function(there, function) => !self.calls_a_library(there, function),
                value => self.as_http(&value).is_none(),
            }
        })
    }

    fn calls_a_library(&mut self, file: FileId, function: FunctionId) -> bool {
        let parsed = self.world.whole_file(file).parsed;
        let inside = |at: Option<FunctionId>| parsed.functions_around(at).any(|around| around == function);
        parsed.calls.iter().filter(|call| inside(call.function)).any(|call| {
            let Expr::Call { callee, .. } = parsed.expr(call.expr) else { return false };
            let callee = self.expr(file, *callee);
            self.as_http(&callee).is_some()
        })
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
    fn all_changes_in(&mut self, file: FileId, is_none: impl Fn(&Changes) -> bool) -> Rc<Changes> {
        let changes = self.changes_in(file);
        if !is_none(&changes) {
            self.world.whole_file(file);
        }
        changes
    }

    /// The changes that a file makes, to look up what is kept by an id.
    fn changes_in(&mut self, file: FileId) -> Rc<Changes> {
        let parsed = self.world.file(file).parsed;
        Rc::clone(self.changes.entry(file).or_insert_with(|| Rc::new(Changes::of(parsed))))
    }
}

/// Whether a value is the client of another, or of its class (`Stripe.prototype`).
fn is_of(value: &Vendor, vendor: &Vendor) -> bool {
    value.client == vendor.client || (value.client.is_none() && value.made.is_none() && value.shape == vendor.shape)
}
