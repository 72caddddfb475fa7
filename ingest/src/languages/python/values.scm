; Expressions that a client, a URL, or an argument's keys can pass through.

(call function: (_) @_callee arguments: (_) @_arguments) @call
(keyword_argument name: (identifier) @_key value: (_) @_value) @keyword
(list_splat (_) @_value) @spread
(dictionary_splat (_) @_value) @spread

(attribute object: (_) @_object attribute: (identifier) @_property) @member
(subscript value: (_) @_object) @index

(string) @text
(concatenated_string) @special
(binary_operator left: (_) @_left operator: "+" right: (_) @_right) @join
(binary_operator left: [(string) (parenthesized_expression) (identifier) (attribute)] operator: "%" right: (_)) @special

(conditional_expression . (_) @_left (_) (_) @_right .) @either
(boolean_operator left: (_) @_left operator: "or" right: (_) @_right) @either
(boolean_operator operator: "and" right: (_) @_value) @guarded
(await (_) @_value) @await
(parenthesized_expression (_) @_value) @same
(named_expression value: (_) @_value) @same

(dictionary) @object
(pair key: (_) @_key value: (_) @_value) @pair
[(list) (tuple) (expression_list)] @list
(none) @null

; Types.
(type (_) @_value) @same
(type (binary_operator left: (_) @_left operator: "|" right: (_) @_right) @union)
(union_type . (_) @_left (_) @_right) @union
(generic_type . (identifier) @_name (type_parameter . (_) @_value)) @apply
(type (subscript value: (_) @_name subscript: (_) @_value) @apply)
