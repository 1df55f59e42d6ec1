"""Phrases by which the checks of the simulated user classify messages. All are folded: lower case,
and е for ё.
"""

from __future__ import annotations

import re

ASKS = re.compile(
    r"\b(?:please|could you|can you|may i have|i(?:'ll| will)? need|i(?:'d| would) need|provide"
    r"|tell me|give me|share|let me know|what is|what's|which|пожалуйста|укажите|назовите"
    r"|сообщите|скажите|подскажите|напишите|пришлите|нужен|нужна|нужно|нужны|уточните)\b"
)
"""A sentence that asks for something, also without a question mark."""
ANYTHING_ELSE = re.compile(
    r"anything else|something else|further (?:help|questions|assistance)|other questions"
    r"|more (?:help|questions)|else i can|help you with (?:anything|something)"
    r"|(?:что-нибудь|что-то|чем-то|чем-нибудь|чем) еще|еще (?:чем|что|вопрос)|другие вопросы"
)
"""The question for further wishes, which needs no answer."""
OPEN_QUESTION = re.compile(
    r"tell me more|more (?:details|information)|all (?:the )?details|what happened|describe"
    r"|расскажите|подробн|опишите|что случилось|все данные"
)
"""A question that asks for everything."""
NOT_UNDERSTOOD = re.compile(
    r"repeat|again|once more|(?:did not|didn't|do not|don't|not) (?:get|understand|catch|follow)"
    r"|not sure what|rephrase|come again|повтор|еще раз|снова|не понял|не поняла|не расслыш"
    r"|перефразируй|уточните"
)
"""An agent who has to hear it again."""
DOES_NOT_KNOW = re.compile(
    r"don't (?:know|have|remember|recall)|do not (?:know|have|remember|recall)|not sure|no idea"
    r"|rather not|won't (?:tell|say|give|share)|will not (?:tell|say|give|share)|can't (?:tell|say)"
    r"|не знаю|не помню|нет под рукой|не скажу|не хочу (?:говорить|называть)|понятия не имею"
)
"""A refusal to answer."""
DECLINES = re.compile(
    r"\bno\b|never mind|forget it|not (?:interested|now)|don't want|leave it|i(?:'ll| will) call"
    r"|give up|\bнет\b|не надо|не нужно|забудьте|передумал|оставим|отказываюсь"
)
"""A user who declines an offer and leaves."""
CORRECTS = re.compile(
    r"sorry|i meant|i mean|correction|actually|mistake|my bad|typo|извините|простите|ошиб|вернее"
    r"|точнее|имел в виду|имела в виду|опечатка"
)
"""Words that take something back."""
THANKS = re.compile(
    r"\bthank|\bthanks|appreciate|have a (?:nice|great|good)|goodbye|\bbye\b|you too|спасибо"
    r"|благодар|до свидания|всего доброго|хорошего дня|и вам"
)
"""Thanks and goodbyes."""
SERVICE = re.compile(
    r"how (?:can|may) i (?:help|assist)|i(?:'m| am) here to (?:help|assist)|as an ai\b"
    r"|language model|(?:anything|something) else i can (?:help|assist|do for)"
    r"|i(?:'d| would) be happy to (?:help|assist)"
    r"|thank(?: you|s) for (?:contacting|reaching out|calling|getting in touch)"
    r"|dear (?:valued )?customer|(?:best|kind) regards,? (?:the |your )?(?:\w+ )?(?:support|team)\b"
    r"|is there anything else (?:you (?:need|want|would like|'d like)|i can (?:help|assist|do for))"
    r"|how can we help|feel free to (?:ask|reach out)"
    r"|i(?:'ll| will) (?:process|cancel|refund|look up|check) your"
    r"|i(?:'ve| have) (?:processed|cancelled|canceled|refunded|updated) your"
    r"|(?:could|can) you (?:please )?(?:provide|give|tell) (?:me )?(?:with )?your"
    r"|чем (?:я )?могу (?:вам )?помочь|рад(?:а)? (?:буду )?помочь|как (?:искусственный|языковая)"
    r"|языковая модель|спасибо за обращение|могу ли я (?:еще )?чем|чем еще (?:я )?могу"
    r"|обращайтесь|(?:я )?(?:отменил|отменила|оформил|оформила|проверил|проверила|вернул|вернула)"
    r" ваш|назовите(?:,)? пожалуйста|укажите(?:,)? пожалуйста|подскажите(?:,)? пожалуйста(?:,)? ваш"
)
"""Phrases of an assistant only."""
WEAK_SERVICE = re.compile(
    r"please provide|let me (?:check|look|see)|your (?:order|refund|request|account|reservation)"
    r" (?:has been|is|was|will)|we apologi[sz]e|you(?:'re| are) welcome|our (?:policy|system|team)"
    r"|certainly!|of course!|ваш (?:заказ|запрос|возврат) (?:был|будет|отмен|оформ)"
    r"|приносим извинения|минуточку|наша (?:система|политика|команда)|уважаемый клиент|пожалуйста!"
)
"""Usual phrases of an assistant; two of them are needed."""
RELATIVE_DAY = re.compile(
    r"next day|day (?:before|after|earlier|later)|tomorrow|yesterday|a day|following day"
    r"|следующ|накануне|завтра|вчера|днем (?:раньше|позже)|день (?:раньше|позже)"
)
"""A day that follows from another one."""
AGREES = re.compile(r"^\W*(?:yes|yeah|sure|ok|okay|correct|right|да|верно|конечно|хорошо)\b")
"""The beginning of an answer that confirms something."""
_ENGLISH = """
the to my and for you your this that with would need please what have can not is it are of at from
"""
ENGLISH = frozenset(_ENGLISH.split())
"""Words that hardly any other language has; two of them make a text English."""
SHOWS_INSTRUCTIONS = re.compile(
    r"###[\w -]+###|<(?:think|thinking|reasoning|tool_call|function)[^>]{0,200}>"
    r"|\"(?:tool_calls?|function_call|arguments)\"\s*:"
    r"|(?:my|the) (?:instructions?|scenario|persona|role|system prompt)"
    r" (?:say|says|is to|tell|tells|require)|as the (?:simulated )?user\b"
    r"|you are a simulated user|^\W*the user (?:says|explains|asks)\b"
    r"|according to my instructions|i should (?:now )?(?:respond|reply|answer|ask) "
    r"|the (?:agent|assistant) (?:has )?(?:asked|wants)"
    r"|мо(?:и|я|ей) (?:инструкци|роль|сценари)|по сценарию|как пользователь,? я"
    r"|(?:агент|ассистент) (?:спросил|просит|хочет)"
)
"""Reasoning, marks of a chat template, or talk about the scenario."""
