; What a file defines, and the scopes of names.

(function_definition name: (identifier) @_name parameters: (_) @_parameters body: (_) @_body) @function
(function_definition return_type: (_) @_type) @function

(lambda body: (_) @_value) @closure

(class_definition name: (identifier) @_name body: (_) @_body) @class
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript) (call)] @_base)) @class

(decorated_definition (decorator (_) @_decorator) definition: (_) @_definition) @decorated

[
  (list_comprehension)
  (set_comprehension)
  (dictionary_comprehension)
  (generator_expression)
] @scope

(return_statement (_) @_value) @return
