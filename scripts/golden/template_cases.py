"""Chat templates in the manner of the known families, and chats for them.

The templates are our own: each uses the constructs of the family that it is named after, so that
what runs them runs the real ones. `CONSTRUCTS` are small ones for single features.
"""

CHATML = r"""{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""

LLAMA2 = r"""{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must take turns: user, assistant, user') }}{% endif %}{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""

LLAMA3 = r"""{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message comes out of the list. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One tool at a time!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\n\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
"""

MISTRAL1 = r"""{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"""

MISTRAL3 = r"""{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages if message.role != "tool" and not message.get("tool_calls") %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("Roles must take turns") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
"""

MISTRAL7 = r"""{%- set default_system = "You are a helpful assistant. Today is " + today + "." %}
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- if messages[0]['content'] is string %}
        {%- set system_message = messages[0]['content'] %}
    {%- else %}
        {%- set system_message = messages[0]['content'][0]['text'] %}
    {%- endif %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = default_system %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}
{%- for message in loop_messages %}
    {%- if message['role'] == 'user' %}
        {%- if message['content'] is string %}
            {{- '[INST]' + message['content'] + '[/INST]' }}
        {%- else %}
            {{- '[INST]' }}
            {%- for block in message['content'] %}
                {%- if block['type'] == 'text' %}
                    {{- block['text'] }}
                {%- else %}
                    {{- raise_exception('Only text here: ' ~ block['type']) }}
                {%- endif %}
            {%- endfor %}
            {{- '[/INST]' }}
        {%- endif %}
    {%- else %}
        {{- message['content'] + eos_token }}
    {%- endif %}
{%- endfor %}"""

GEMMA = r"""{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %}"""

PHI3 = r"""{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'user' %}{{'<|user|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>
' + message['content'] + '<|end|>
'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>
' }}{% else %}{{ eos_token }}{% endif %}"""

QWEN3 = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- "# Tools\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools><|im_end|>\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- content }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
"""

DEEPSEEK = r"""{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endfor -%}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}"""

ZEPHYR = r"""{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

FAMILIES = {
    "chatml": CHATML, "llama2": LLAMA2, "llama3": LLAMA3, "mistral1": MISTRAL1,
    "mistral3": MISTRAL3, "mistral7": MISTRAL7, "gemma": GEMMA, "phi3": PHI3, "qwen3": QWEN3,
    "deepseek": DEEPSEEK, "zephyr": ZEPHYR,
}

TOOL = {"type": "function", "function": {
    "name": "weather", "description": "The weather, \"now\" <here>",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
SYSTEM = {"role": "system", "content": " You are a fish. "}
ASK = {"role": "user", "content": "  Who are you?\n"}
ANSWER = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nA fish, ünïcode 🐟."}
AGAIN = {"role": "user", "content": "Say <|im_end|> [/INST] 'quoted' \"twice\""}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "weather", "arguments": {"city": "Kiel", "n": 2.5}}}]}
TOLD = {"role": "tool", "content": "{\"t\": 7}"}

CHATS = {
    "one": [ASK],
    "system": [SYSTEM, ASK],
    "turns": [SYSTEM, ASK, ANSWER, AGAIN],
    "answered": [ASK, ANSWER],
    "tool": [ASK, CALL, TOLD],
    "wrong": [ASK, ASK],
}

COMMON = {"bos_token": "<s>", "eos_token": "</s>", "today": "2024-07-26"}
VARIANTS = {
    "prompt": {"add_generation_prompt": True},
    "no prompt": {"add_generation_prompt": False},
    "no thinking": {"add_generation_prompt": True, "enable_thinking": False},
    "tools": {"add_generation_prompt": True, "tools": [TOOL]},
}

# (name, template, variables)
CONSTRUCTS = [
    ("white space", "a\n  {% if true %}\n  b\n  {% endif %}\nc {%- if true %} d {% endif -%} e\n{# x #}\nf\n", {}),
    ("white space kept", "a\n  {%+ if true %} b{% endif +%}\nc\n", {}),
    ("comment with dashes", "a {#- x -#} b", {}),
    ("print keeps newline", "{{ 1 }}\n{{ 2 }}\n\n", {}),
    ("arithmetic", "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 1.5 * 2 }} {{ 3 - -1 }}", {}),
    ("precedence", "{{ 1 + 2 * 3 ~ 'x' ~ 4 }} {{ not 1 == 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }}", {}),
    ("logic values", "{{ '' or 'x' }} {{ 'a' and 'b' }} {{ none is none }} {{ true }} {{ none }} {{ [] or 0 }}", {}),
    ("inline if", "{{ 'a' if x else 'b' if y else 'c' }}{{ 'z' if x }}", {"x": False, "y": True}),
    ("loop", "{% for i in xs %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}", {"xs": ["a", "b", "c"]}),
    ("loop else", "{% for i in [] %}x{% else %}empty{% endfor %}", {}),
    ("loop filter", "{% for i in range(6) if i is odd %}{{ i }}{{ loop.index }},{% endfor %}", {}),
    ("break continue", "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}", {}),
    ("loop scope", "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", {}),
    ("if scope", "{% if true %}{% set x = 2 %}{% endif %}{{ x }}", {}),
    ("namespace", "{% set ns = namespace(n=0, s='') %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }} {{ ns.s }}", {}),
    ("macro", "{% macro m(a, b='B', c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m('x', 'y') }}", {}),
    ("macro recursion", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", {}),
    ("set block", "{% set x %} a {{ 1 + 1 }} {% endset %}<{{ x }}>{% set y | trim | upper %} b {% endset %}<{{ y }}>", {}),
    ("unpacking", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in d | items %}{{ k }}{% endfor %}{% set a, b = [1, 2] %}{{ b }}{{ a }}", {"d": {"x": 1, "y": "two"}}),
    ("dictsort", "{% for k, v in d | dictsort %}{{ k }}{{ v }}{% endfor %}", {"d": {"b": 1, "A": 2, "c": 3}}),
    ("slices", "{{ s[1:3] }}|{{ s[-2:] }}|{{ s[::-1] }}|{{ s[:-1] }}|{{ s[10:] }}|{{ xs[1:] }}|{{ xs[::2] }}|{{ xs[-1] }}|{{ s[0] }}", {"s": "aüb🐟c", "xs": [1, 2, 3]}),
    ("string methods", "{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ s.upper() }}|{{ s.lower() }}|{{ s.title() }}|{{ s.strip().capitalize() }}|{{ s.replace('l', 'L') }}|{{ s.replace('l', 'L', 1) }}|{{ s.strip().startswith('he') }}|{{ s.endswith(('x', ' ')) }}|{{ s.find('l') }}|{{ s.strip('h o') }}", {"s": " hello wörld "}),
    ("split", "{{ 'a,b,,c'.split(',') }}{{ ' a  b '.split() }}{{ 'a b c'.split(' ', 1) }}{{ 'a b c'.rsplit(' ', 1) }}{{ 'x\\ny\\n'.splitlines() }}{{ ', '.join(['a', 'b']) }}", {}),
    ("filters", "{{ ' x '|trim }}{{ 'ab'|upper }}{{ 'AB'|lower }}{{ 'ab cd'|title }}{{ 'ab'|capitalize }}{{ [1, 2]|length }}{{ 'üb'|length }}{{ nope|default('d') }}{{ ''|default('e', true) }}{{ [1, 2]|join('-') }}{{ 'aa'|replace('a', 'b') }}{{ '7'|int + 1 }}{{ 3.7|int }}{{ '1.5'|float }}{{ [3, 1, 2]|sort }}{{ [1, 1, 2]|unique|list }}{{ 'abc'|first }}{{ [1, 2]|last }}{{ [1, 2]|reverse|list }}{{ 5|string ~ '!' }}{{ -3|abs }}", {}),
    ("map and select", "{{ xs|map(attribute='n')|list }}{{ xs|map(attribute='m', default='-')|join }}{{ xs|selectattr('n', 'equalto', 2)|map(attribute='n')|list }}{{ xs|rejectattr('m')|list|length }}{{ xs|selectattr('m', 'defined')|list|length }}{{ ['a', 'b']|map('upper')|join(',') }}{{ [0, 1, 2]|select|list }}{{ [1, 2, 3]|reject('odd')|list }}", {"xs": [{"n": 1, "m": "x"}, {"n": 2}]}),
    ("tojson", "{{ v|tojson }}\n{{ v|tojson(indent=2) }}\n{{ []|tojson }}{{ {}|tojson(indent=2) }}", {"v": {"a": [1, 2.5, None, True], "b": "ü<\"\\\n\u0001", "c": {}, "d": 1e20}}),
    ("tests", "{{ x is defined }}{{ nope is defined }}{{ nope is undefined }}{{ 'a' is string }}{{ 1 is number }}{{ 1 is integer }}{{ 1.0 is float }}{{ {} is mapping }}{{ [] is iterable }}{{ 'a' is iterable }}{{ [] is sequence }}{{ true is boolean }}{{ 4 is even }}{{ 6 is divisibleby 3 }}{{ 1 is eq 1 }}{{ x is not none }}{{ 2 is in [1, 2] }}{{ false is false }}", {"x": 1}),
    ("membership", "{{ 'a' in 'cat' }}{{ 1 in [1] }}{{ 'k' in {'k': 1} }}{{ 3 not in [1] }}", {}),
    ("literals", "{{ [1, 'two', none, true, 1.0] }}{{ {'a': 1, 'b': [2]} }}{{ (1, 2)|list }}{{ 'it\\'s' }}{{ [\"it's\"] }}{{ 'a' 'b' }}{{ '\\u00fc\\x41' }}", {}),
    ("undefined", "[{{ nope }}{{ d.nope }}{{ d['nope'] }}{% if nope %}x{% endif %}{% for i in nope %}x{% endfor %}]", {"d": {}}),
    ("undefined field", "{{ nope.x }}", {}),
    ("adding none", "{{ 'a' + none }}", {}),
    ("refusal", "{{ raise_exception('not so') }}", {}),
    ("get", "{{ d.get('a') }}{{ d.get('z') }}{{ d.get('z', 'y') }}{{ d.keys()|list }}{{ d.values()|list }}", {"d": {"a": 1}}),
    ("append", "{% set xs = [] %}{% for i in range(3) %}{% set _ = xs.append(i) %}{% endfor %}{{ xs }}{{ xs + [9] }}", {}),
    ("range", "{{ range(3)|list }}{{ range(1, 4)|list }}{{ range(5, 0, -2)|list }}", {}),
    ("indent", "{{ 'a\\nb\\n\\nc'|indent(2) }}|{{ 'a\\nb'|indent(2, true) }}", {}),
    ("nested braces", "{{ {'a': {'b': 1}}['a']['b'] }}{{ '}}' }}{{ {'a': {}} }}", {}),
    ("generation", "{% generation %}x{{ 1 }}{% endgeneration %}", {}),
    ("repeat", "{{ 'ab' * 3 }}{{ '=' * 0 }}", {}),
    ("equality", "{{ [1, {'a': 2}] == [1, {'a': 2}] }}{{ 1 == 1.0 }}{{ '1' == 1 }}{{ none == false }}", {}),
    ("min max format", "{{ [3, 1, 2]|min }}{{ [3, 1]|max }}{{ 'a{}b{}'.format(1, 'x') }}{{ none|selectattr('x')|list }}", {}),
    ("date", "{{ strftime_now('%d %B %Y, %A %b %m %y') }}", {}),
]
